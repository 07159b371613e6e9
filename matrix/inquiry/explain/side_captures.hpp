// The captures of an explanation's second replay, requested and read: the tensors of each source, then single calls of
// modules that take other operators on each side.
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

// The most sources of a step that are captured. Calls of modules may be as many and as large again, on each side.
inline constexpr std::size_t kMostCaptures = 32;
inline constexpr std::int64_t kMostCaptureBytes = std::int64_t{1} << 30;

// If only one side has a subgraph at a step's end, the other side has no call that could be captured.
bool has_both_sides(const DifferenceSource& source);

// Chooses the first source, then one of every operator before a second of any; none if a side is missing. Sources found
// on substituted inputs are captured on these by another replay, the rest by a replay without them. In the first look
// there is only one of every operator.
enum class Looks { first, both };
std::vector<DifferenceSource*> sources_to_capture(Explanation& explanation, bool on_substituted_inputs = false,
                                                  Looks looks = Looks::both);

class SideCaptures {
 public:
  enum class Side { measured, expected };

  SideCaptures(Side side, const std::vector<DifferenceSource*>& sources);

  const std::vector<OperatorSite>& sites() const { return sites_; }

  // Why the captures of that source are not those of its records; empty if they are. `folder` is the replay's.
  std::string captured_otherwise(std::size_t source, const std::filesystem::path& folder) const;

  // The capture of a source without a call, as a whole.
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
