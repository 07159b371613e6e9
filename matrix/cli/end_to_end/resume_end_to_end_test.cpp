// The suite that stops trainings and goes on with them, as a user meets it.
#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"

namespace reprobench {
namespace {

struct ResumeCheck {
  std::string outcome;
  nlohmann::json check;
  std::string text() const { return check.dump(); }
};

// What the candidate's mlp is said of when its worker does that.
ResumeCheck candidate_that(const std::string& behaviour) {
  const Workplace place;
  std::vector<std::string> command = place.run_command("resume", behaviour);
  for (const char* word : {"--filter", "workload == mlp and stack == torch-2.9.0-cu128"}) command.emplace_back(word);
  call(command);
  const nlohmann::json verdict = place.verdict();
  for (const nlohmann::json& cell : verdict.at("cells")) {
    if (cell.at("outcome") == "skipped") continue;
    for (const nlohmann::json& check : cell.at("checks")) {
      if (check.at("metric") == "numerics.resume_mismatches") return {cell.at("outcome"), check};
    }
  }
  FAIL(verdict.dump());
  return {};
}

TEST_CASE("a training that goes on as if it had never stopped passes, by all of its steps", "[e2e]") {
  const ResumeCheck found = candidate_that("ok");
  INFO(found.text());
  CHECK(found.check.at("status") == "passed");
  CHECK(found.text().find("8 + 12 steps in two processes have the bits of 20 in one") != std::string::npos);
}

TEST_CASE("other bits after going on fail, before it too, and each names its first step", "[e2e]") {
  const auto [behaviour, step] =
      GENERATE(table<std::string, int>({{"drift=12,segment=2", 12}, {"drift=3,segment=1", 3}}));
  const ResumeCheck found = candidate_that(behaviour);
  INFO(found.text());
  CHECK(found.outcome == "failed");
  CHECK(found.check.at("status") == "failed");
  CHECK(found.check.at("divergence").at("step") == step);
}

TEST_CASE("a process that went on from something else than was written is no proof, and decides nothing", "[e2e]") {
  const ResumeCheck found = candidate_that("other_checkpoint,segment=2");
  INFO(found.text());
  CHECK(found.outcome == "inconclusive");
  CHECK(found.check.at("status") != "passed");
  CHECK(found.text().find("went on from checkpoint-8.json with checksum 0000") != std::string::npos);
}

TEST_CASE("a process that trains again from the start, or never stops, is never green", "[e2e]") {
  const auto behaviour = GENERATE(as<std::string>(), "retrain,segment=2", "never_stop,segment=1");
  const ResumeCheck found = candidate_that(behaviour);
  INFO(found.text());
  CHECK(found.outcome == "failed");
  CHECK(found.check.at("status") != "passed");
}

}  // namespace
}  // namespace reprobench
