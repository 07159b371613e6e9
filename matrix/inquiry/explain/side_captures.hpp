// What the second replay of an explanation captures, and what it left of it: the tensors of each source, then each call
// by itself of modules that take other operators on each side.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/inquiry/explain/module_judgement.hpp"

namespace reprobench {

// So many sources of a step are captured; modules' calls may be as many and as large again, on each side.
inline constexpr std::size_t kMostCaptures = 32;
inline constexpr std::int64_t kMostCaptureBytes = std::int64_t{1} << 30;

// Of a subgraph at a step's end that one side alone takes, the other has no call that could be captured.
bool has_both_sides(const DifferenceSource& source);

// The first source ahead, and of the others one of every operator before a second of any; none without both sides.
// Those found on substituted inputs are captured on them, by another replay, and the rest by one without.
// With the first look alone they are one of every operator.
enum class Looks { first, both };
std::vector<DifferenceSource*> sources_to_capture(Explanation& explanation, bool on_substituted_inputs = false,
                                                  Looks looks = Looks::both);

class SideCaptures {
 public:
  enum class Side { measured, expected };

  SideCaptures(Side side, const std::vector<DifferenceSource*>& sources);

  const std::vector<OperatorSite>& sites() const { return sites_; }

  // What was captured of that source is not what its records say; empty: it is. `folder` is the replay's.
  std::string captured_otherwise(std::size_t source, const std::filesystem::path& folder) const;

  // Of a source without a call, as a whole.
  ModuleSide judged_module(std::size_t source, const CellRequest& request, const std::filesystem::path& folder) const;

 private:
  const OperatorSubgraph& subgraph_of(const DifferenceSource& source) const;
  void add_module(std::size_t source);
  std::optional<std::vector<CapturedModuleCall>> module_calls_left(std::size_t source,
                                                                   const std::filesystem::path& folder) const;

  Side side_;
  std::vector<const DifferenceSource*> sources_;
  std::vector<OperatorSite> sites_;
  std::map<std::size_t, std::size_t> first_of_module_;  // by source: the number of its first call's capture
  std::int64_t module_bytes_ = 0;
};

}  // namespace reprobench
