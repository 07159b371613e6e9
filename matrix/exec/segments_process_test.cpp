// Attempts that are stopped and resumed, as real process trees: three processes one after the other, under the
// shepherd, of a fake worker that keeps its part of the bargain or does not.
#include "matrix/contract/attempt_segment.hpp"
#include "matrix/exec/process_scene.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kStopAfter = 4;

struct SegmentsScene : ProcessScene {
  int ranks = 1;
  int resumed_on = 0;

  AttemptRecord attempt_of(const std::string& behaviour) {
    Cell cell = sample_cell("cell", behaviour);
    cell.limits = limits;
    cell.request.workload.resume_after = kStopAfter;
    cell.request.trace = TraceLevel::tensor;
    cell.request.world_size = ranks;
    if (ranks > 1 || resumed_on > 0) cell.request.knobs = {{"accumulate", "2"}};
    cell.request.workload.resume_world_size = resumed_on;
    workers.emplace(behaviour, WorkerCommand{{kFakeWorker}, {"--do", behaviour}, {}});
    RunDirectory directory = sample_run(store.path, sample_plan({cell}));
    folder = directory.folder();
    options.infra_retries = 0;
    const auto records = execute(sample_plan({cell}), workers, launcher, clock, directory, options, observer);
    REQUIRE(records.at(0).attempts.size() == 1);
    CHECK(processes_naming(folder.string()).empty());
    const AttemptRecord& attempt = records[0].attempts[0];
    // What the files say later is what the execution said.
    const AttemptRecord again = load_run(folder.string()).cells.at(0).attempts.at(0);
    CHECK(again.end == attempt.end);
    CHECK(again.detail == attempt.detail);
    CHECK(again.segments.size() == attempt.segments.size());
    return attempt;
  }
};

TEST_CASE("an attempt that is stopped and resumed is three processes, each with its own account", "[exec][process]") {
  SegmentsScene scene;
  AttemptRecord attempt = scene.attempt_of("ok");
  INFO(attempt.detail);
  REQUIRE(attempt.end == AttemptEnd::completed);
  REQUIRE(attempt.segments.size() == 2);
  for (const SegmentRecord& segment : attempt.segments) {
    REQUIRE(segment.ranks.at(0).exit);
    CHECK(segment.ranks[0].exit->exit_code == 0);
    CHECK(segment.ranks[0].folder == attempt.folder + "/" + std::string(to_string(segment.segment)) + "/rank-0");
  }
  Cell cell = sample_cell("cell", "ok");
  cell.request.workload.resume_after = kStopAfter;
  load_traces(attempt, scene.folder.string(), cell.request);
  CHECK(attempt.lead().trace->steps.size() == 6);
  const Trace& stopped = *attempt.segments[0].ranks[0].trace;
  const Trace& resumed = *attempt.segments[1].ranks[0].trace;
  CHECK(stopped.steps.size() == kStopAfter);
  CHECK(resumed.steps.front().step == kStopAfter + 1);
  CHECK(resumed.header.resumed->written_by == attempt.nonce + ".stopped");
  CHECK(resumed.header.resumed->chain == stopped.steps.back().chain);
  CHECK(resumed.steps.back().chain == attempt.lead().trace->steps.back().chain);
}

TEST_CASE("the process that goes on may have more ranks or fewer, each with its own account", "[exec][process]") {
  const auto [ranks, resumed_on] = GENERATE(table<int, int>({{2, 4}, {2, 1}, {1, 2}, {2, 0}}));
  SegmentsScene scene;
  scene.ranks = ranks;
  scene.resumed_on = resumed_on;
  AttemptRecord attempt = scene.attempt_of("ok");
  INFO(attempt.detail);
  REQUIRE(attempt.end == AttemptEnd::completed);
  REQUIRE(attempt.segments.size() == 2);
  CHECK(attempt.ranks.size() == static_cast<std::size_t>(ranks));
  CHECK(attempt.segments[0].ranks.size() == static_cast<std::size_t>(ranks));
  REQUIRE(attempt.segments[1].ranks.size() == static_cast<std::size_t>(resumed_on == 0 ? ranks : resumed_on));
  for (const SegmentRecord& segment : attempt.segments) {
    for (std::size_t rank = 0; rank < segment.ranks.size(); ++rank) {
      REQUIRE(segment.ranks[rank].exit);
      CHECK(segment.ranks[rank].folder.ends_with("/rank-" + std::to_string(rank)));
      CHECK(segment.ranks[rank].result->knobs_resolved.at("accumulate") ==
            std::to_string(2 * ranks / static_cast<int>(segment.ranks.size())));
    }
  }
}

TEST_CASE("a rank that only those have who go on is named when it ends badly", "[exec][process]") {
  SegmentsScene scene;
  scene.ranks = 2;
  scene.resumed_on = 4;
  const AttemptRecord attempt = scene.attempt_of("exit=3,segment=2,rank=3");
  INFO(attempt.detail);
  CHECK(attempt.end == AttemptEnd::nonzero);
  CHECK(attempt.detail.starts_with("resumed: rank 3: exit code 3"));
  CHECK(attempt.ended_by == 3);
  CHECK(attempt.deciding().exit->exit_code == 3);
}

TEST_CASE("the checkpoint is evidence: changed after the attempt, nothing is judged of it", "[exec][process]") {
  SegmentsScene scene;
  const AttemptRecord attempt = scene.attempt_of("ok");
  const auto checkpoint = scene.folder / attempt.folder / "stopped" / "checkpoints" / "checkpoint-4.json";
  REQUIRE(std::filesystem::exists(checkpoint));
  std::ofstream(checkpoint, std::ios::app) << " ";
  const AttemptRecord again = load_run(scene.folder.string()).cells.at(0).attempts.at(0);
  CHECK(again.end == AttemptEnd::store);
  CHECK(again.detail == "stopped/checkpoints/checkpoint-4.json changed since it was judged");
}

TEST_CASE("an attempt ends as the first of its processes that is not completed", "[exec][process]") {
  const auto [behaviour, end, detail, segments] = GENERATE(table<std::string, AttemptEnd, std::string, std::size_t>({
      {"exit=3,segment=1", AttemptEnd::nonzero, "stopped: exit code 3; last step 3", 1},
      {"no_result,segment=2", AttemptEnd::contract, "resumed: result.json: missing", 2},
      {"throw,segment=1", AttemptEnd::worker_error, "stopped: exception at step 3", 1},
      {"exit=3", AttemptEnd::nonzero, "exit code 3; last step 3", 0},
      {"leak,segment=2", AttemptEnd::leaked, "resumed: 1 process was alive", 2},
  }));
  const AttemptRecord attempt = SegmentsScene().attempt_of(behaviour);
  INFO(attempt.detail);
  CHECK(attempt.end == end);
  CHECK(attempt.detail.starts_with(detail));
  CHECK(attempt.segments.size() == segments);
}

TEST_CASE("a process that hangs after another was done is a hang of its own, with timers of its own",
          "[exec][process]") {
  SegmentsScene scene;
  scene.limits.heartbeat_gap = milliseconds(700);
  const AttemptRecord attempt = scene.attempt_of("hang,segment=1");
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.segments.size() == 1);
}

TEST_CASE("a worker that does not stop, or begins anew instead of going on, breaks the contract", "[exec][process]") {
  const auto [behaviour, detail] = GENERATE(table<std::string, std::string>({
      {"never_stop,segment=1", "stopped: result.json: steps_completed 6 does not match the 4 steps asked for"},
      {"retrain,segment=2", "resumed: trace.jsonl: the chain of step 5 does not follow"},
      {"wrong_nonce,segment=2", "resumed: result.json: nonce 0000000000000000 does not match expected "},
  }));
  const AttemptRecord attempt = SegmentsScene().attempt_of(behaviour);
  INFO(attempt.detail);
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail.starts_with(detail));
}

TEST_CASE("a run that the user stops between two processes is interrupted, not lost", "[exec][process]") {
  SegmentsScene scene;
  std::atomic<int> level{0};
  scene.options.interrupt = &level;
  scene.observer.tick = [&] {
    const auto begun = [&] { return !processes_naming("stopped/rank-0").empty(); };
    if (level == 0 && begun()) level = static_cast<int>(Interrupt::finish);
  };
  const AttemptRecord attempt = scene.attempt_of("paced=100,segment=1");
  CHECK(attempt.end == AttemptEnd::interrupted);
}

}  // namespace
}  // namespace reprobench
