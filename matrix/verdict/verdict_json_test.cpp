#include <fstream>

#include "ci/catch.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {
namespace {

nlohmann::json golden_verdict() {
  std::ifstream stream(REPROBENCH_SOURCE_ROOT "/matrix/contract/testdata/1.0/verdict.json");
  return nlohmann::json::parse(stream);
}

TEST_CASE("a verdict of contract 1.0 is read, and differs in its version alone when it is written again", "[verdict]") {
  nlohmann::json document = golden_verdict();
  const RunVerdict verdict = verdict_from_json(document);
  CHECK(verdict.cells.at(0).attempts.at(0).telemetry->foreign_pids == std::vector<std::int64_t>{1});
  CHECK(verdict.cells.at(1).checks.at(2).status == CheckStatus::failed);
  CHECK(verdict.totals.at("planned") == static_cast<int>(verdict.cells.size()));
  document["version"]["minor"] = kContractVersion.minor;
  document["dimensions"] = nlohmann::json::array();
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

}  // namespace
}  // namespace reprobench
