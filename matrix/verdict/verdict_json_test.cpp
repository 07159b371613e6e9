#include <fstream>

#include "ci/catch.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {
namespace {

nlohmann::json golden_verdict() {
  std::ifstream stream(REPROBENCH_SOURCE_ROOT "/matrix/contract/testdata/2.0/verdict.json");
  return nlohmann::json::parse(stream);
}

TEST_CASE("a verdict of contract 2.0 is read, and is the same when it is written again", "[verdict]") {
  const nlohmann::json document = golden_verdict();
  const RunVerdict verdict = verdict_from_json(document);
  CHECK(verdict.cells.at(0).attempts.at(0).telemetry->foreign_pids == std::vector<std::int64_t>{1});
  CHECK(verdict.cells.at(1).checks.at(2).status == CheckStatus::failed);
  CHECK(verdict.totals.planned == static_cast<int>(verdict.cells.size()));
  CHECK(to_json(verdict) == document);
}

TEST_CASE("a probe's measurements and what is not finite survive a verdict", "[verdict]") {
  RunVerdict verdict = verdict_from_json(golden_verdict());
  ProbeMeasurement triad;
  triad.operation = "triad";
  triad.unit = "GB/s";
  triad.status = MeasurementStatus::measured;
  triad.samples = {1.5, std::numeric_limits<double>::infinity()};
  verdict.cells[0].measurements = {{0, triad}, {1, triad}};
  verdict.cells[0].checks[0].measured = -std::numeric_limits<double>::infinity();
  verdict.exit_code = ExitCode::interrupted;
  const RunVerdict back = verdict_from_json(to_json(verdict));
  CHECK(to_json(back) == to_json(verdict));
  CHECK(back.cells[0].measurements.at(1).measurement == triad);
  CHECK(back.exit_code == ExitCode::interrupted);
}

TEST_CASE("a verdict with a word that is none is refused by its place", "[verdict]") {
  nlohmann::json document = golden_verdict();
  document["cells"][0]["checks"][0]["status"] = "green";
  CHECK_THROWS_WITH(verdict_from_json(document),
                    "verdict: `cells/0/checks/0/status` is `green`, none of passed, failed, inconclusive");
}

TEST_CASE("a verdict with an exit code that is none of ours is refused", "[verdict]") {
  nlohmann::json document = golden_verdict();
  document["exit_code"] = 7;
  CHECK_THROWS_WITH(verdict_from_json(document), "verdict: `exit_code` is 7, none of 0, 1, 2, 3, 4, 5, 70, 130, 143");
}

TEST_CASE("a verdict's totals name every outcome and nothing else", "[verdict]") {
  nlohmann::json document = golden_verdict();
  document["totals"]["green"] = 0;
  CHECK_THROWS_WITH(verdict_from_json(document), "verdict: `totals/green` is not a field of this document");
  document["totals"].erase("green");
  document["totals"].erase("failed");
  CHECK_THROWS_WITH(verdict_from_json(document), "verdict: `totals/failed` is missing");
  document["totals"]["failed"] = -1;
  CHECK_THROWS_WITH(verdict_from_json(document), "verdict: `totals/failed` is -1, under 0");
}

TEST_CASE("a verdict without faults, sources or measurements has no empty list of them", "[verdict]") {
  for (const char* list : {"/planted", "/selected_by", "/changed_by", "/info/sources", "/cells/0/measurements"}) {
    nlohmann::json document = golden_verdict();
    document[nlohmann::json::json_pointer(list)] = nlohmann::json::array();
    CHECK_THROWS_WITH(verdict_from_json(document), "verdict: `" + std::string(list + 1) + "` holds 0 items, under 1");
  }
}

TEST_CASE("a share of time in a verdict's telemetry is never negative", "[verdict]") {
  nlohmann::json document = golden_verdict();
  document["cells"][0]["attempts"][0]["telemetry"]["power_cap_share"] = -0.25;
  CHECK_THROWS_WITH(verdict_from_json(document),
                    "verdict: `cells/0/attempts/0/telemetry/power_cap_share` is -0.250000, under 0");
}

TEST_CASE("a verdict says what it is the seal of, or that it is of no run on disk", "[verdict]") {
  nlohmann::json document = golden_verdict();
  document["seal"] = {{"plan_sha256", std::string(64, 'a')}, {"journal_sha256", std::string(64, 'b')}};
  CHECK(to_json(verdict_from_json(document)) == document);
  document["seal"] = nullptr;
  CHECK_FALSE(verdict_from_json(document).seal);
  document.erase("seal");
  CHECK_THROWS_WITH(verdict_from_json(document), "verdict: `seal` is missing");
}

}  // namespace
}  // namespace reprobench
