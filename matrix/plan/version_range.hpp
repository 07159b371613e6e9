// A condition on a version, ">=9.8 <9.13", and what is known of it for a version that is stated at any length.
//
// A version with fewer parts stands for all versions that begin so: 9.10 for 9.10.2.21 and 9.10.0. So a range may hold
// for some of them and not for others, and the answer is then `maybe`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

enum class Within { no, maybe, yes };

// The numbers of a version that has only digits and dots; a part behind a plus is left off. Nothing for any other text.
std::optional<std::vector<int>> whole_version(std::string_view text);

class VersionRange {
 public:
  // Bounds between blanks, all of which must hold: `>=V`, `>V`, `<V`, `<=V`, or `V` for all that V names. `>9.10` is
  // after everything that 9.10 names, `<=9.10` up to there. Throws ContractError that quotes the text, for a bound that
  // is none, for no bound, and for bounds that no version meets.
  static VersionRange parse(const std::string& text);

  // `maybe` if the text is no version, since it is not known then.
  Within match(std::string_view version) const;

  const std::string& text() const { return text_; }

 private:
  // A version is in the range from `at_least` up to, but not at, `below`. An empty one is no bound.
  std::vector<int> at_least_;
  std::vector<int> below_;
  std::string text_;
};

}  // namespace reprobench
