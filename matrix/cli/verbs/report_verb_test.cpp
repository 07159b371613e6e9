// What `report` judges, writes, refuses and takes away.
#include "ci/catch.hpp"
#include "matrix/cli/verbs/run_verb_fixture.hpp"
#include "matrix/record/result_index.hpp"
#include "matrix/record/verdict_seal.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a report is asked for unless it is left out, its trouble is said and the verdict stays", "[cli][process]") {
  const RunPlace place;
  {
    const FakePython python(place, "echo \"$4/report.html\"\n");
    const Said said = place.run("ok", {"--report"});
    CHECK_THAT(said.err, Contains(place.run_folder().string() + "/report.html\nrun "));
    CHECK(fs::exists(place.run_folder() / "tensorboard/short-mlp-new-cpu/repeat-0"));
    const Said again = place.say(&declare_report, {});
    CHECK(again.code == ExitCode::passed);
    CHECK(again.out == place.run_folder().string() + "/report.html\n");
  }
  const FakePython broken(place, "echo no >&2; exit 1\n");
  CHECK_THROWS_WITH(place.say(&declare_report, {}), "the report generator ended with 1: no");
  const Said said = place.run("ok", {"--report", "--out", (place / "mine").string()});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.err, Contains("report: the report generator ended with 1: no\nrun "));
}

TEST_CASE("no page outlives the verdict that it shows, also where the generator fails", "[cli][process]") {
  const RunPlace place;
  place.run();
  const fs::path report = place.run_folder() / "report";
  fs::create_directories(report);
  for (const char* name : {"report.html", "summary.md", "checks.csv", "measurements.csv", "phases.csv", "notes.txt"}) {
    written_file(report / name, "PASSED");
  }
  const FakePython broken(place, "echo no >&2; exit 1\n");
  CHECK_THROWS_WITH(place.say(&declare_report, {}), Contains("ended with 1"));
  CHECK(fs::exists(report / "report.html"));  // of the verdict that still stands
  CHECK_THROWS_WITH(place.say(&declare_report, {"--rejudge"}), Contains("ended with 1"));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(report)) left.push_back(entry.path().filename());
  CHECK(left == std::vector<std::string>{"notes.txt"});
}

TEST_CASE("a report judges what has no verdict, and again what is asked, and refuses what changed since",
          "[cli][process]") {
  const RunPlace place;
  place.run();
  const FakePython python(place, "echo ok\n");
  const json before = place.file("verdict.json");
  fs::remove(place.run_folder() / "verdict.json");
  fs::remove(place.run_folder() / "junit.xml");
  CHECK(place.say(&declare_report, {place.run_folder().filename()}).out == "ok\n");
  CHECK(place.file("verdict.json") == before);
  CHECK(fs::exists(place.run_folder() / "junit.xml"));
  json changed = before;
  changed["sentence"] = "something else";
  written_file(place.run_folder() / "verdict.json", changed.dump());
  const fs::path page = place.run_folder() / "report" / "report.html";
  fs::create_directory(page.parent_path());
  written_file(page, "PASSED");
  CHECK_THROWS_WITH(place.say(&declare_report, {}), Contains("verdict.json changed since it was judged"));
  CHECK_FALSE(fs::exists(page));  // it would outlive what it says
  CHECK_THROWS_WITH(place.say(&declare_compare, {place.run_folder().string()}),
                    Contains("verdict.json changed since it was judged"));
  CHECK_THROWS_WITH(place.say(&declare_merge, {place.run_folder().string(), place.run_folder().string()}),
                    Contains("verdict.json changed since it was judged"));
  place.say(&declare_report, {"--rejudge"});
  CHECK(place.file("verdict.json") == before);
  CHECK(place.file("verdict.json.changed") == changed);
  // A copy that lost the end of its journal would vouch for any verdict.
  const std::string journal = read_file(place.run_folder() / "journal.jsonl");
  written_file(place.run_folder() / "journal.jsonl", std::string(journal_before_verdicts(journal)));
  CHECK_THROWS_WITH(place.say(&declare_report, {}), Contains("has no line in journal.jsonl that vouches for it"));
  CHECK_THROWS_WITH(place.say(&declare_merge, {place.run_folder().string(), place.run_folder().string()}),
                    Contains("has no line in journal.jsonl that vouches for it"));
  place.say(&declare_report, {"--rejudge"});
  CHECK(place.file("verdict.json") == before);
  CHECK(place.say(&declare_report, {}).out == "ok\n");
  for (const auto& entry : fs::recursive_directory_iterator(place.run_folder() / "cells")) {
    if (entry.path().filename() == "trace.jsonl") std::ofstream(entry.path(), std::ios::app) << "more\n";
  }
  CHECK_THROWS_WITH(place.say(&declare_report, {}),
                    Contains("trace.jsonl changed since it was judged; `report --rejudge` judges what there is"));
  CHECK_THROWS_WITH(place.say(&declare_report, {"r-none"}), Contains("no run `r-none`"));
}

TEST_CASE("#41: report indexes what it judges of its store, and removes what a killed one left", "[cli][process]") {
  const RunPlace place;
  place.run();
  const FakePython python(place, "echo ok\n");
  const auto indexed = [&] { return indexed_runs(place.store()).size(); };
  fs::remove(place.store() / "index.db");
  const fs::path left = written_file(place.run_folder() / "report/.report.html.0123456789abcdef.tmp", "half");
  const fs::path other = written_file(place.run_folder() / ".verdict.json.0123456789abcdef.tmp", "half");
  place.say(&declare_report, {"--rejudge"});
  CHECK(indexed() == 1);
  CHECK_FALSE(fs::exists(left));
  CHECK_FALSE(fs::exists(other));

  fs::remove(place.store() / "index.db");
  fs::copy(place.run_folder(), place / "elsewhere", fs::copy_options::recursive);
  CHECK(place.say(&declare_report, {"--rejudge", place / "elsewhere"}).code == ExitCode::passed);
  CHECK(indexed() == 0);

  written_file(place.store() / "index.db", "no index");
  CHECK(place.say(&declare_report, {"--rejudge"}).code == ExitCode::store);
}

}  // namespace
}  // namespace reprobench
