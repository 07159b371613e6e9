#include "matrix/cli/merged_comparisons.hpp"

#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

// "RUN:CELL" of every cell that was merged, to its id in the merged run.
std::map<std::string, std::string> merged_ids(const RunMerge& merge, const std::vector<MergeSource>& sources) {
  std::map<const AttemptRecord*, std::string> merged;
  for (const MergedAttempt& attempt : merge.attempts) merged.emplace(attempt.record, attempt.request.cell_id);
  std::map<std::string, std::string> ids;
  for (const MergeSource& source : sources) {
    for (const CellRecord& cell : source.run.cells) {
      for (const AttemptRecord& attempt : cell.attempts) {
        const auto found = merged.find(&attempt);
        if (found != merged.end()) ids.emplace(source.run.info.run_id + ":" + cell.cell_id, found->second);
      }
    }
  }
  return ids;
}

}  // namespace

MergedComparisons merged_comparisons(const RunMerge& merge, const std::vector<MergeSource>& sources) {
  std::map<std::string, std::string> slugs;
  for (const PlannedCell& planned : merge.plan.cells) slugs.emplace(planned.cell.request.cell_id, planned.cell.slug);
  const auto ids = merged_ids(merge, sources);
  MergedComparisons merged;
  for (const MergeSource& source : sources) {
    const std::filesystem::path file = std::filesystem::path(source.run.folder) / "comparisons.json";
    if (!std::filesystem::exists(file)) continue;
    try {
      const auto document = json_or_discarded(read_file(file));
      for (CellComparison& comparison : comparisons_from_json(document)) {
        const auto measured = ids.find(comparison.measured);
        const auto expected = ids.find(comparison.expected);
        if (measured == ids.end() || expected == ids.end()) continue;
        comparison.measured = merge.info.run_id + ":" + measured->second;
        comparison.expected = merge.info.run_id + ":" + expected->second;
        comparison.measured_name = slugs.at(measured->second);
        comparison.expected_name = slugs.at(expected->second);
        merged.comparisons.push_back(std::move(comparison));
      }
    } catch (const ContractError& error) {
      merged.problems.push_back(fmt::format("{} is not carried over: {}", file.string(), error.what()));
    }
  }
  return merged;
}

}  // namespace reprobench
