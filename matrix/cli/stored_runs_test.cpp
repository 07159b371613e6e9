// Runs and cells by the names that people give them.
#include "matrix/cli/stored_runs.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

void add_run(const fs::path& store, const std::string& name, bool is_whole = true, bool is_judged = false) {
  fs::create_directories(store / "runs" / name);
  if (is_whole) std::ofstream(store / "runs" / name / "run.json") << "{}";
  if (is_judged) std::ofstream(store / "runs" / name / "verdict.json") << "{";
}

TEST_CASE("the runs of a store are its folders, oldest first, but for those that are being built", "[cli]") {
  const TemporaryFolder store;
  CHECK(stored_run_names(store.path).empty());
  for (const char* name : {"r-2", "r-1", ".r-3", "r-10"}) add_run(store.path, name);
  std::ofstream(store.path / "runs/file") << "no run";
  CHECK(stored_run_names(store.path) == std::vector<std::string>{"r-1", "r-10", "r-2"});
  CHECK(find_run(store.path, "") == store.path / "runs/r-2");
}

TEST_CASE("#41: what died before it was a run is not the newest", "[cli]") {
  const TemporaryFolder store;
  add_run(store.path, "r-1");
  add_run(store.path, "r-2", /*is_whole=*/false);
  CHECK(stored_run_names(store.path) == std::vector<std::string>{"r-1"});
  CHECK(find_run(store.path, "") == store.path / "runs/r-1");
}

TEST_CASE("a younger folder that died before it was a run is told of where the newest run answers", "[cli]") {
  const TemporaryFolder store;
  CHECK(passed_over(store.path, "").empty());
  add_run(store.path, "r-2");
  add_run(store.path, "r-1", /*is_whole=*/false);
  add_run(store.path, ".r-9", /*is_whole=*/false);
  std::ofstream(store.path / "runs/z") << "no folder";
  CHECK(passed_over(store.path, "").empty());
  add_run(store.path, "r-3", /*is_whole=*/false);
  const std::string said =
      "r-3 is younger than run r-2 and is left aside: it has no run.json, with which a run begins\n";
  CHECK(passed_over(store.path, "") == said);
  CHECK(passed_over(store.path, "smoke-mlp") == said);  // a cell of the newest run
  CHECK(passed_over(store.path, "r-2").empty());
  CHECK(passed_over(store.path, "r-2:smoke-mlp").empty());
  CHECK(passed_over(store.path, (store.path / "runs/r-2").string()).empty());
  add_run(store.path, "r-4");
  CHECK(passed_over(store.path, "").empty());
}

TEST_CASE("a run is found by its name or its folder", "[cli]") {
  const TemporaryFolder store;
  CHECK_THROWS_WITH(find_run(store.path, ""),
                    store.path.string() + " holds no run; `reprobench run` makes one, and --store names another store");
  CHECK_THROWS_WITH(find_run(store.path, "r"), "there is no run `r`: " + store.path.string() + " holds none");
  CHECK_THROWS_WITH(find_run(store.path, store.path), "`" + store.path.string() + "` is no run: it has no run.json");
  add_run(store.path, "r-1", true, true);
  add_run(store.path, "r-2");
  add_run(store.path, "r-3", false);
  CHECK(is_stored_run(store.path, "r-1"));
  CHECK(is_stored_run(store.path, (store.path / "runs/r-1").string()));
  CHECK_FALSE(is_stored_run(store.path, "r-3"));
  CHECK_FALSE(is_stored_run(store.path, "r-4"));
  CHECK(find_run(store.path, "r-1") == store.path / "runs/r-1");
  CHECK(find_run(store.path, (store.path / "runs/r-2").string()) == store.path / "runs/r-2");
  CHECK_THROWS_WITH(find_run(store.path, "r-11"), Catch::Contains("`r-11`") && Catch::Contains("r-1"));
  CHECK(find_judged_run(store.path, "r-1") == store.path / "runs/r-1");
  CHECK_THROWS_WITH(find_judged_run(store.path, "r-2"),
                    "run r-2 is unfinished: it ended before its verdict; `reprobench report " +
                        (store.path / "runs/r-2").string() + "` judges what there is");
  CHECK_THROWS_WITH(load_verdict(store.path / "runs/r-1"),
                    (store.path / "runs/r-1/verdict.json").string() + " is not JSON");
}

TEST_CASE("a cell is found by its slug, its id or four digits that only one id begins with", "[cli]") {
  const std::vector<CellName> cells = {{"abcd11", "one"}, {"abcd22", "two"}, {"abce33", "abcd"}, {"ff", "ff-slug"}};
  CHECK(find_cell(cells, "one") == 0);
  CHECK(find_cell(cells, "two") == 1);
  CHECK(find_cell(cells, "abcd22") == 1);
  CHECK(find_cell(cells, "abcd2") == 1);
  CHECK(find_cell(cells, "abce") == 2);
  CHECK(find_cell(cells, "ff") == 3);
  CHECK_FALSE(find_cell(cells, "abc"));
  CHECK_FALSE(find_cell(cells, "f"));
  CHECK_FALSE(find_cell(cells, "abcd111"));
  CHECK_FALSE(find_cell(cells, ""));
  CHECK_FALSE(find_cell({}, "one"));
  const std::vector<CellName> alike = {{"abcd11", "one"}, {"abcd22", "two"}};
  CHECK_THROWS_WITH(find_cell(alike, "abcd"), "`abcd` is the beginning of several cell ids");
}

}  // namespace
}  // namespace reprobench
