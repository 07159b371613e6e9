#include "matrix/verdict/environment.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

// The candidate's stack, which declares torch 2.9.0.
StackEnvironment candidate_environment(RunRecord& run) {
  run.plan.declared = {{"stack-b", {{"torch", "2.9.0"}}}};
  const auto environments = environments_of(run);
  REQUIRE(environments.size() == 1);
  return environments.front();
}

void crash(AttemptRecord& attempt) {
  attempt.end = AttemptEnd::crash;
  attempt.lead().result.reset();
}

Fingerprint of_torch(const std::string& version) {
  Fingerprint fingerprint;
  fingerprint.components = {{"torch", version, version, "lib"}};
  return fingerprint;
}

TEST_CASE("a crashed attempt tells the torch that it began with, and no more", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, {});
  for (AttemptRecord& attempt : sample::candidate(run).attempts) crash(attempt);
  SECTION("the declared version is not taken for loaded") {
    const StackEnvironment environment = candidate_environment(run);
    CHECK_FALSE(environment.fingerprint);
    CHECK(environment.torch_loaded.empty());
    CHECK(environment.findings ==
          std::vector<std::string>{"not known what was loaded: every attempt ended before it said so"});
  }
  SECTION("what it said is held against the declaration") {
    sample::candidate(run).attempts[1].lead().torch = "2.8.0";
    const StackEnvironment environment = candidate_environment(run);
    CHECK(environment.torch_loaded == "2.8.0");
    CHECK(environment.findings ==
          std::vector<std::string>{
              "torch: declared 2.9.0, loaded 2.8.0",
              "not known what was loaded beside torch 2.8.0: every attempt ended before it said so"});
  }
  SECTION("nothing is taken from files that changed") {
    sample::candidate(run).attempts[0].lead().torch = "2.8.0";
    sample::candidate(run).attempts[0].end = AttemptEnd::store;
    CHECK(candidate_environment(run).torch_loaded.empty());
  }
}

TEST_CASE("a completed attempt is the best witness, a failed one that told its fingerprint the next", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, {});
  auto& attempts = sample::candidate(run).attempts;
  attempts[0].end = AttemptEnd::worker_error;
  attempts[0].lead().result->fingerprint = of_torch("2.8.1");
  attempts[1].lead().result->fingerprint = of_torch("2.9.0");
  attempts[0].lead().torch = "2.8.1";
  SECTION("both") { CHECK(candidate_environment(run).fingerprint->components[0].loaded == "2.9.0"); }
  SECTION("the failed one alone") {
    crash(attempts[1]);
    const StackEnvironment environment = candidate_environment(run);
    CHECK(environment.fingerprint->components[0].loaded == "2.8.1");
    CHECK(environment.torch_loaded.empty());
    CHECK(environment.findings.size() == 1);
  }
}

TEST_CASE("the first attempt that tells is the one that is believed, of each stack its own", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, {});
  auto& attempts = sample::candidate(run).attempts;
  attempts[0].lead().result->fingerprint = of_torch("2.9.0");
  attempts[1].lead().result->fingerprint = of_torch("2.9.1");
  CHECK(candidate_environment(run).fingerprint->components[0].loaded == "2.9.0");
  CHECK(candidate_environment(run).findings.empty());
  run.plan.declared["stack-a"] = {{"torch", "2.7.0"}};
  const auto environments = environments_of(run);
  REQUIRE(environments.size() == 2);
  CHECK(environments[0].stack == "stack-a");
  CHECK(environments[1].fingerprint->components[0].loaded == "2.9.0");
  // A run that ended early has fewer records than its plan has cells.
  run.cells.clear();
  CHECK(candidate_environment(run).findings.empty());
  CHECK_FALSE(candidate_environment(run).fingerprint);
}

TEST_CASE("of crashed attempts the first that said which torch it is counts", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, {});
  auto& attempts = sample::candidate(run).attempts;
  for (AttemptRecord& attempt : attempts) crash(attempt);
  attempts[0].lead().torch = "2.9.0";
  attempts[1].lead().torch = "2.8.0";
  CHECK(candidate_environment(run).torch_loaded == "2.9.0");
}

TEST_CASE("of a stack that never began nothing is said", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, {});
  sample::candidate(run).attempts.clear();
  const StackEnvironment environment = candidate_environment(run);
  CHECK(environment.findings.empty());
  CHECK(environment.torch_loaded.empty());
}

}  // namespace
}  // namespace reprobench
