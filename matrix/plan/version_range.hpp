// A condition on a version, ">=9.8 <9.13", and what is known of it for a version that is stated at any length.
//
// A version of fewer parts stands for all that it names: 9.10 for 9.10.2.21 and 9.10.0. So a range may hold for some of
// them and not for others, and the answer is then `maybe`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

enum class Within { no, maybe, yes };

// The numbers of a version of digits and dots alone, with whatever follows a plus left off; nothing for any other text.
std::optional<std::vector<int>> whole_version(std::string_view text);

class VersionRange {
 public:
  // Bounds between blanks, all of which must hold: `>=V`, `>V`, `<V`, `<=V`, or `V` for all that V names. `>9.10` is
  // after everything that 9.10 names, `<=9.10` up to there. Throws ContractError quoting the text: of a bound that is
  // none, of no bound, and of bounds that no version is within.
  static VersionRange parse(const std::string& text);

  // `maybe` where the version is none, as it then is not known.
  Within match(std::string_view version) const;

  const std::string& text() const { return text_; }

 private:
  // From `at_least` up to and without `below`; an empty one is no bound.
  std::vector<int> at_least_;
  std::vector<int> below_;
  std::string text_;
};

}  // namespace reprobench
