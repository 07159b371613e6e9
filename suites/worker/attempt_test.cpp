#include "suites/worker/attempt.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "matrix/base/available_memory.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

CellResult attempt(const std::filesystem::path& folder, const nlohmann::json& request, bool expected) {
  std::ofstream(folder / "request.json") << request;
  CHECK(run_attempt(folder / "request.json", kTestData) == expected);
  std::ifstream file(folder / "result.json");
  return result_from_json(nlohmann::json::parse(file));
}

TEST_CASE("whatever is wrong with a request, the result says it and echoes the nonce", "[worker]") {
  const TemporaryFolder folder;
  const nlohmann::json good = to_json(training_request(mlp(), 2, TraceLevel::step));
  const auto cause_with = [&](auto change) {
    nlohmann::json request = good;
    change(request);
    const CellResult result = attempt(folder.path(), request, false);
    CHECK(result.nonce == "0123456789abcdef");
    CHECK(result.steps_completed == 0);
    return result.failure ? result.failure->cause : "none";
  };
  CHECK(cause_with([](auto& r) { r["workload"]["model"] = "gpt9"; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["workload"]["preset"] = "huge"; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["workload"]["batch_size"] = 0; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["workload"]["batch_size"] = 1798; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["workload"]["steps"] = 0; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["version"]["major"] = 9; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["knobs"]["tf32"] = "maybe"; }) == "bad_request");
  CHECK(cause_with([](auto& r) { r.erase("trace"); }) == "bad_request");
  CHECK(cause_with([](auto& r) { r["device"] = "sm_90"; }) == "unsupported");
  CHECK(cause_with([](auto& r) { r["world_size"] = 3; }) == "bad_request");  // 32 samples

  const CellResult done = attempt(folder.path(), good, true);
  CHECK_FALSE(done.failure);
  CHECK(done.steps_completed == 2);
  CHECK(done.trace_lines == 4);
  CHECK(done.start_to_first_step_ns > 0);
  CHECK(done.peak_anonymous_bytes > 0);
  CHECK(done.peak_anonymous_bytes < done.peak_rss_bytes);
}

TEST_CASE("a loss that is not a number is recorded and ends the run", "[worker]") {
  const TemporaryFolder folder;
  CellRequest request = training_request(mlp(), 9, TraceLevel::step);
  request.inject = Injection{"weight_nan", 3, "fc2.bias", 0};
  const CellResult result = attempt(folder.path(), to_json(request), false);
  REQUIRE(result.failure);
  CHECK(result.failure->cause == "non_finite_loss");
  CHECK(result.failure->step == 3);
  CHECK(result.steps_completed == 3);
  const TrainingTrace trace = training_trace_from(folder.path() / "trace.jsonl");
  REQUIRE(trace.steps.size() == 3);
  CHECK(trace.steps.back().loss.at("value") == "nan");
  CHECK(trace.steps.back().chain == result.chain);
  CHECK(result.trace_lines == 4);
}

TEST_CASE("a run that is asked to stop finishes its step and says so", "[worker]") {
  const TemporaryFolder folder;
  request_stop();
  const CellResult result = attempt(folder.path(), to_json(training_request(mlp(), 9, TraceLevel::step)), false);
  REQUIRE(result.failure);
  CHECK(result.failure->cause == "interrupted");
  CHECK(result.steps_completed == 1);
  CHECK(training_trace_from(folder.path() / "trace.jsonl").steps.size() == 1);
}

TEST_CASE("a request that is not JSON still gets a result", "[worker]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "request.json") << "{\"cell_id\": ";
  CHECK_FALSE(run_attempt(folder.path() / "request.json", kTestData));
  // It names no cell, so it answers no request: who reads it as a cell's result is told so.
  std::ifstream file(folder.path() / "result.json");
  const auto document = nlohmann::json::parse(file);
  CHECK(document.at("failure").at("cause") == "bad_request");
  CHECK_THROWS_WITH(result_from_json(document), "result: `cell_id` is empty");
}

TEST_CASE("a preset too large for the machine is refused before it starts, with the arithmetic", "[worker]") {
  if (available_memory_bytes() > 321'000'000'000) return;  // it would fit here, and train for hours
  const TemporaryFolder folder;
  CellRequest request = training_request(model_called("llama"), 1, TraceLevel::step);
  request.workload.preset = "3.1-8b";
  request.knobs["precision"] = "fp64";  // 321 GB
  const CellResult result = attempt(folder.path(), to_json(request), false);
  REQUIRE(result.failure);
  CHECK(result.failure->cause == "host_oom");
  CHECK(result.failure->detail.starts_with(
      "llama/3.1-8b keeps parameters 64.2 GB + gradients 64.2 GB + optimizer 128.5 GB + scratch 64.2 GB + buffers 0.0 "
      "GB = 321.2 GB; "));
  CHECK(result.failure->detail.ends_with(" GB are available"));
}

TEST_CASE("missing data ends the run with the file's name", "[worker]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "request.json") << to_json(training_request(mlp(), 2, TraceLevel::step));
  CHECK_FALSE(run_attempt(folder.path() / "request.json", folder.path()));
  std::ifstream file(folder.path() / "result.json");
  CHECK(result_from_json(nlohmann::json::parse(file)).failure->detail.find("digits.bin") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
