// Comparisons of the runs that were merged, under the names that their cells have in the merged run.
#include "matrix/cli/merged_comparisons.hpp"

#include <filesystem>
#include <fstream>

#include "ci/catch.hpp"
#include "matrix/exec/sample_plan.hpp"

namespace reprobench {
namespace {

CellComparison comparison_of(const std::string& measured, const std::string& expected) {
  CellComparison comparison;
  comparison.measured = measured;
  comparison.expected = expected;
  comparison.measured_name = "old measured";
  comparison.expected_name = "old expected";
  comparison.workload = "mlp";
  comparison.sentence = measured + " and " + expected;
  return comparison;
}

std::string comparisons_json(const std::vector<CellComparison>& comparisons) { return to_json(comparisons).dump(); }

// Two runs of the cells aaa and bbb, an attempt each, merged into cells with other ids.
class MergedPair {
 public:
  MergedPair() {
    for (const char* run_id : {"r-1", "r-2"}) {
      MergeSource& source = sources.emplace_back();
      source.run.info.run_id = run_id;
      source.run.folder = (folder_.path / run_id).string();
      std::filesystem::create_directories(source.run.folder);
      for (const char* cell_id : {"aaa", "bbb"}) {
        CellRecord& cell = source.run.cells.emplace_back();
        cell.cell_id = cell_id;
        cell.attempts.resize(1);
      }
    }
    merge.info.run_id = "r-merged";
    Plan plan;
    for (std::size_t source = 0; source < 2; ++source) {
      for (std::size_t cell = 0; cell < 2; ++cell) {
        const std::string id = sources[source].run.cells[cell].cell_id + (source == 0 ? "1" : "2");
        plan.cells.push_back({sample_cell(id, "stack-" + id), std::nullopt, {}});
        merge.attempts.push_back(
            {source, plan.cells.back().cell.request, &sources[source].run.cells[cell].attempts[0]});
      }
    }
    merge.plan = plan;
  }

  void write(std::size_t source, const std::string& text) {
    std::ofstream(std::filesystem::path(sources[source].run.folder) / "comparisons.json") << text;
  }
  MergedComparisons merged() const { return merged_comparisons(merge, sources); }

  std::vector<MergeSource> sources;
  RunMerge merge;

 private:
  TemporaryFolder folder_;
};

TEST_CASE("a comparison of two cells that were merged is carried over under their new names", "[cli]") {
  MergedPair pair;
  pair.write(0, comparisons_json({comparison_of("r-1:bbb", "r-1:aaa"), comparison_of("r-1:aaa", "r-1:bbb")}));
  pair.write(1, comparisons_json({comparison_of("r-2:bbb", "r-1:aaa")}));
  const MergedComparisons merged = pair.merged();
  CHECK(merged.problems.empty());
  std::vector<std::string> shown;
  for (const CellComparison& one : merged.comparisons) {
    shown.push_back(one.measured + " " + one.measured_name + " | " + one.expected + " " + one.expected_name);
  }
  CHECK(shown == std::vector<std::string>{
                     "r-merged:bbb1 smoke-mlp-stack-bbb1-cpu-fp32 | r-merged:aaa1 smoke-mlp-stack-aaa1-cpu-fp32",
                     "r-merged:aaa1 smoke-mlp-stack-aaa1-cpu-fp32 | r-merged:bbb1 smoke-mlp-stack-bbb1-cpu-fp32",
                     "r-merged:bbb2 smoke-mlp-stack-bbb2-cpu-fp32 | r-merged:aaa1 smoke-mlp-stack-aaa1-cpu-fp32"});
  CHECK(merged.comparisons.at(0).sentence == "r-1:bbb and r-1:aaa");
}

TEST_CASE("a comparison with a cell that was not merged is left out, and the others stay", "[cli]") {
  MergedPair pair;
  pair.merge.attempts.erase(pair.merge.attempts.begin());  // aaa of the first run
  pair.write(0, comparisons_json({comparison_of("r-1:bbb", "r-1:aaa"), comparison_of("r-1:aaa", "r-1:bbb"),
                                  comparison_of("r-1:bbb", "r-2:aaa"), comparison_of("r-3:bbb", "r-2:aaa")}));
  const MergedComparisons merged = pair.merged();
  REQUIRE(merged.comparisons.size() == 1);
  CHECK(merged.comparisons[0].expected == "r-merged:aaa2");
}

TEST_CASE("comparisons that cannot be read are named, and those of the other run carried over", "[cli]") {
  MergedPair pair;
  pair.write(0, "{");
  pair.write(1, comparisons_json({comparison_of("r-2:bbb", "r-2:aaa")}));
  const MergedComparisons merged = pair.merged();
  CHECK(merged.comparisons.size() == 1);
  REQUIRE(merged.problems.size() == 1);
  CHECK(merged.problems[0].starts_with(pair.sources[0].run.folder + "/comparisons.json is not carried over: "));
}

TEST_CASE("runs without comparisons have none when they are merged", "[cli]") {
  const MergedPair pair;
  CHECK(pair.merged().comparisons.empty());
  CHECK(pair.merged().problems.empty());
}

}  // namespace
}  // namespace reprobench
