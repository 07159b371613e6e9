#include <map>

#include "ci/catch.hpp"
#include "matrix/contract/recent_tensors.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

// What a training of level `recent` left in its folder, segments included.
struct RecentRun {
  explicit RecentRun(const CellRequest& request) {
    try {
      run_training(request, folder.path(), kTestData, result);
    } catch (const RunFailure& failed) {
      failure = failed.cause();
    }
    trace = training_trace_from(folder.path() / "trace.jsonl");
    for (const std::string_view name : kRecentSegments) {
      if (!std::filesystem::exists(folder.path() / name)) continue;
      const TrainingTrace segment = training_trace_from(folder.path() / name);
      CHECK(to_json(segment.header) == to_json(trace.header));
      for (const TensorsRecord& tensors : segment.tensors) segments.emplace(tensors.step, tensors);
    }
  }

  const TensorsRecord* tensors_of(std::int64_t step) const {
    for (const TensorsRecord& tensors : trace.tensors) {
      if (tensors.step == step && !tensors.is_final) return &tensors;
    }
    const auto found = segments.find(step);
    return found == segments.end() ? nullptr : &found->second;
  }

  TemporaryFolder folder;
  CellResult result;
  std::string failure;
  TrainingTrace trace;
  std::map<std::int64_t, TensorsRecord> segments;
};

TEST_CASE("level `recent` has the digests of level `tensor`, and of its records the last 64 steps'", "[worker]") {
  const TrainingTrace every = train(training_request(mlp(), 230, TraceLevel::tensor));
  const RecentRun recent(training_request(mlp(), 230, TraceLevel::recent));
  CHECK(recent.trace.header.level == TraceLevel::recent);
  CHECK(recent.result.chain == every.result.chain);
  REQUIRE(recent.trace.steps.size() == every.steps.size());
  for (std::size_t i = 0; i < every.steps.size(); ++i) CHECK(recent.trace.steps[i].root == every.steps[i].root);
  CHECK(recent.trace.tensors.size() == 10);  // 1, 2, 5, 10, 20, 50, 100, 200, 230 and the state after it
  CHECK(recent.result.trace_lines == 1 + 230 + 10);
  CHECK(recent.segments.size() < 2 * 64 + 64);
  for (std::int64_t step = 1; step <= 230; ++step) {
    CAPTURE(step);
    const TensorsRecord* record = recent.tensors_of(step);
    REQUIRE((record != nullptr || !keeps_tensors(TraceLevel::recent, step, 230)));
    if (record != nullptr) CHECK(to_json(*record) == to_json(every.tensors[static_cast<std::size_t>(step - 1)]));
  }
}

TEST_CASE("a training that ends in NaN has its last 64 steps on record, tensor by tensor", "[worker]") {
  CellRequest request = training_request(mlp(), 500, TraceLevel::recent);
  request.inject = Injection{"weight_nan", 150, "fc2.bias", 0};
  const RecentRun run(request);
  CHECK(run.failure == "non_finite_loss");
  const std::int64_t last = run.trace.steps.back().step;
  CHECK(last >= 150);
  for (std::int64_t step = last - 63; step <= last; ++step) CHECK(run.tensors_of(step) != nullptr);
}

TEST_CASE("a training that goes on from a checkpoint keeps the last steps of its own", "[worker]") {
  const TemporaryFolder folder;
  CellRequest request = training_request(mlp(), 120, TraceLevel::recent);
  const RecentRun whole(request);
  request.checkpoint = Checkpointing{folder.path().string()};
  request.checkpoint->stop_after = 30;
  const RecentRun stopped(request);
  CHECK(stopped.tensors_of(30) != nullptr);
  CHECK(stopped.segments.contains(30));
  request.checkpoint->stop_after = 0;
  request.checkpoint->resume = true;
  const RecentRun resumed(request);
  CHECK(resumed.result.chain == whole.result.chain);
  CHECK(resumed.trace.steps.front().step == 31);
  for (std::int64_t step = 57; step <= 120; ++step) {
    REQUIRE(resumed.tensors_of(step) != nullptr);
    CHECK(to_json(*resumed.tensors_of(step)) == to_json(*whole.tensors_of(step)));
  }
}

}  // namespace
}  // namespace reprobench
