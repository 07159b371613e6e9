// A run whose files changed after it was judged, as those meet it who read it.
#include <fstream>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a trace that changed since it was judged is said by report and explain, and judged again decides nothing",
          "[e2e]") {
  const Workplace place;
  REQUIRE(call(place.run_command("smoke", "ok")).exit_code == 0);
  const fs::path run = place.run_folder();
  const nlohmann::json cell = place.verdict().at("cells").at(0);
  const std::string folder = cell.at("attempts").at(0).at("folder");
  std::ofstream(run / folder / "rank-0" / "trace.jsonl", std::ios::app) << "{}\n";
  const std::string said = folder + "/rank-0/trace.jsonl changed since it was judged";
  const auto reprobench = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {kBinary, "--store", place / "store"});
    return call(arguments);
  };

  const auto report = reprobench({"report", run.string()});
  CHECK(report.exit_code == 5);
  CHECK(report.err.find(said + "; `report --rejudge` judges what there is") != std::string::npos);
  const auto explain = reprobench({"explain", cell.at("cell_id").get<std::string>()});
  CHECK(explain.exit_code == 3);
  CHECK(explain.err.find(said) != std::string::npos);

  CHECK(reprobench({"report", "--rejudge", run.string()}).exit_code == 3);
  const nlohmann::json again = place.verdict();
  CHECK(again.at("exit_code") == 3);
  CHECK(again.at("cells").at(0).at("outcome") == "errored");
  CHECK(again.at("cells").at(0).at("attempts").at(0).at("detail") == "rank-0/trace.jsonl changed since it was judged");
}

TEST_CASE("a bound that was loosened in plan.json after the run is refused, with and without judging again", "[e2e]") {
  const Workplace place;
  REQUIRE(call(place.run_command("smoke", "ok")).exit_code == 0);
  const fs::path plan = place.run_folder() / "plan.json";
  std::string text = read_file(plan);
  const std::size_t limit = text.find("\"limit\":2.4");
  REQUIRE(limit != std::string::npos);
  text.replace(limit, 11, "\"limit\":9.9");
  std::ofstream(plan) << text;
  const fs::path page = place.run_folder() / "report" / "report.html";
  fs::create_directories(page.parent_path());
  for (const bool rejudges : {false, true}) {
    std::ofstream(page) << "PASSED";
    std::vector<std::string> command = {kBinary, "--store", place / "store", "report", place.run_folder().string()};
    if (rejudges) command.push_back("--rejudge");
    const auto report = call(command);
    INFO(report.err);
    CHECK(report.exit_code == 5);
    CHECK(report.err.find("plan.json changed since it was judged") != std::string::npos);
    CHECK_FALSE(fs::exists(page));
  }
}

TEST_CASE("no page of a run is left whose journal lost its beginning", "[e2e]") {
  const Workplace place;
  REQUIRE(call(place.run_command("smoke", "ok")).exit_code == 0);
  const fs::path journal = place.run_folder() / "journal.jsonl";
  const std::string text = read_file(journal);
  std::ofstream(journal) << text.substr(text.find('\n') + 1);
  const fs::path page = place.run_folder() / "report" / "report.html";
  fs::create_directories(page.parent_path());
  for (const char* option : {"--quiet", "--rejudge"}) {
    std::ofstream(page) << "PASSED";
    CHECK(call({kBinary, "--store", place / "store", "report", place.run_folder().string(), option}).exit_code == 5);
    CHECK_FALSE(fs::exists(page));
  }
}

}  // namespace
}  // namespace reprobench
