// Attempts of several ranks and resident pairs as real process trees: the shepherd and the fake worker, with one rank
// killed, hung or lying (the fault list's F47).
#include <algorithm>

#include <signal.h>

#include "ci/catch.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/exec/sample_plan.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct RanksScene {
  std::vector<CellRecord> run(Plan plan) {
    std::map<std::string, WorkerCommand> workers;
    const std::string binaries = REPROBENCH_BINARY_DIR;
    for (PlannedCell& planned : plan.cells) {
      planned.cell.limits = limits;
      const std::string& behaviour = planned.cell.request.stack;
      workers[behaviour] = {{binaries + "/reprobench-fake-worker"}, {"--do", behaviour}, {}};
    }
    RunDirectory directory = sample_run(store.path, plan);
    folder = directory.folder();
    LocalLauncher launcher(binaries + "/reprobench-shepherd");
    ExecutionOptions options;
    options.infra_retries = 0;
    options.jobs = 2;
    const auto records = execute(plan, workers, launcher, MonotonicClock(), directory, options, {});
    check_read_again(records);
    return records;
  }

  // What the files say later is what the execution said.
  void check_read_again(const std::vector<CellRecord>& records) const {
    const RunRecord again = load_run(folder.string());
    for (std::size_t i = 0; i < records.size(); ++i) {
      REQUIRE(again.cells[i].attempts.size() == records[i].attempts.size());
      for (std::size_t j = 0; j < records[i].attempts.size(); ++j) {
        const AttemptRecord& now = records[i].attempts[j];
        const AttemptRecord& later = again.cells[i].attempts[j];
        CHECK(later.end == now.end);
        CHECK(later.detail == now.detail);
        CHECK(later.ended_by == now.ended_by);
        for (std::size_t rank = 0; rank < now.ranks.size(); ++rank) CHECK(later.ranks[rank].end == now.ranks[rank].end);
      }
    }
  }

  // The attempt of two ranks that do this.
  AttemptRecord two_ranks(const std::string& behaviour) {
    Plan plan = sample_plan({sample_cell("aaa", behaviour)});
    plan.cells[0].cell.request.world_size = 2;
    const auto records = run(std::move(plan));
    REQUIRE(records[0].attempts.size() == 1);
    REQUIRE(records[0].attempts[0].ranks.size() == 2);
    return records[0].attempts[0];
  }

  // A timed cell and its reference, resident, six steps a turn.
  std::vector<CellRecord> pair(const std::string& reference, const std::string& candidate) {
    Plan plan = sample_plan({sample_cell("aaa", reference), sample_cell("bbb", candidate)});
    plan.cells[1].cell.reference_cell_id = "aaa";
    for (PlannedCell& planned : plan.cells) {
      planned.cell.exclusive = true;
      planned.cell.request.workload.steps = 12;
      planned.cell.request.turn_steps = 6;
    }
    return run(std::move(plan));
  }

  Trace trace_of(const CellRecord& cell) const {
    const AttemptRecord& attempt = cell.attempts.at(0);
    return read_trace(folder / attempt.lead().folder / "trace.jsonl", cell.cell_id, attempt.nonce);
  }

  TemporaryFolder store;
  std::filesystem::path folder;
  TimeLimits limits{seconds(20), seconds(20), seconds(60), milliseconds(300)};
};

bool begins_with(const std::string& text, const std::string& part) { return text.rfind(part, 0) == 0; }

TEST_CASE("two ranks each in a folder of their own are one completed attempt", "[exec][process][ranks]") {
  RanksScene scene;
  const AttemptRecord attempt = scene.two_ranks("lockstep");
  CHECK(attempt.end == AttemptEnd::completed);
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(attempt.ranks[static_cast<std::size_t>(rank)].result->rank == rank);
    const auto folder = scene.folder / attempt.folder / ("rank-" + std::to_string(rank));
    for (const char* name : {"request.json", "trace.jsonl", "result.json", "exit.json", "stdout.log", "stderr.log"}) {
      CHECK(std::filesystem::exists(folder / name));
    }
  }
}

TEST_CASE("F47: a killed rank ends the attempt, and the one that waited for it is not to blame",
          "[exec][process][ranks]") {
  const int rank = GENERATE(0, 1);
  RanksScene scene;
  const AttemptRecord attempt = scene.two_ranks("lockstep,crash=9,rank=" + std::to_string(rank));
  CHECK(attempt.end == AttemptEnd::crash);
  CHECK(attempt.ended_by == rank);
  CHECK(begins_with(attempt.detail, "rank " + std::to_string(rank) + ": SIGKILL that reprobench did not send"));
  CHECK_FALSE(attempt.ranks[static_cast<std::size_t>(1 - rank)].end);
  CHECK(attempt.ranks[static_cast<std::size_t>(1 - rank)].exit->stopped_by == StoppedBy::runner);
}

TEST_CASE("F47: a hung rank is named, though the other one is long done", "[exec][process][ranks]") {
  RanksScene scene;
  scene.limits.heartbeat_gap = milliseconds(1'000);
  const AttemptRecord attempt = scene.two_ranks("hang,rank=1");
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.detail == "rank 1: no heartbeat for 1 s; last step 3");
  CHECK(attempt.ranks[0].end == AttemptEnd::completed);
}

TEST_CASE("F47: ranks that wait for a hung one are stopped with it, and the attempt is a hang",
          "[exec][process][ranks]") {
  RanksScene scene;
  scene.limits.heartbeat_gap = milliseconds(1'000);
  const AttemptRecord attempt = scene.two_ranks("lockstep,hang,rank=1");
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.ranks[0].exit->stopped_by == StoppedBy::runner);
  CHECK(attempt.ranks[1].exit->stopped_by == StoppedBy::runner);
}

TEST_CASE("a lying rank is found and named", "[exec][process][ranks]") {
  const auto [lie, words] = GENERATE(table<std::string, std::string>({
      {"wrong_rank", "rank 1: result.json: rank 2 does not match expected 1"},
      {"wrong_nonce", "rank 1: result.json: nonce 0000000000000000 does not match expected "},
      {"different_workload", "rank 1: result.json: workload_digest "},
      {"no_result", "rank 1: result.json: missing"},
      {"truncated_trace", "rank 1: trace.jsonl:8: line cut after "},
  }));
  RanksScene scene;
  const AttemptRecord attempt = scene.two_ranks(lie + ",rank=1");
  CHECK(attempt.end == AttemptEnd::contract);
  INFO(attempt.detail);
  CHECK(begins_with(attempt.detail, words));
  CHECK(attempt.ended_by == 1);
  CHECK(attempt.ranks[0].end == AttemptEnd::completed);
}

struct TimedStep {
  std::int64_t ended_ns;  // CLOCK_MONOTONIC
  std::string block;      // "A0"
};

std::string order_of_blocks(const std::vector<Trace>& traces) {
  std::vector<TimedStep> steps;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (const StepRecord& step : traces[i].steps) {
      steps.push_back({traces[i].header.monotonic_us.value() * 1'000 + step.ended_ns.value(),
                       static_cast<char>('A' + i) + std::to_string(step.block.value())});
    }
  }
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.ended_ns < b.ended_ns; });
  std::string order;
  std::string last;
  for (const TimedStep& step : steps) {
    if (step.block != last) order += (order.empty() ? "" : " ") + step.block;
    last = step.block;
  }
  return order;
}

TEST_CASE("a resident pair takes turns block by block, and waiting is no hang", "[exec][process][ranks]") {
  RanksScene scene;
  scene.limits.heartbeat_gap = milliseconds(1'000);
  const auto records = scene.pair("paced=200", "paced=201");  // a block lasts longer than the gap
  CHECK(records[0].attempts.at(0).detail == "exit code 0");
  CHECK(records[1].attempts.at(0).detail == "exit code 0");
  CHECK(order_of_blocks({scene.trace_of(records[0]), scene.trace_of(records[1])}) == "A0 B0 B1 A1");
}

TEST_CASE("a resident that dies, hangs or lies is named, and its partner takes its turns to the end",
          "[exec][process][ranks]") {
  const auto [behaviour, end, words] = GENERATE(table<std::string, AttemptEnd, std::string>({
      {"crash=9", AttemptEnd::crash, "SIGKILL that reprobench did not send"},
      {"hang", AttemptEnd::hang, "no heartbeat for 1 s; last step 6"},
      {"silent", AttemptEnd::hang, "no first heartbeat within 1 s"},
      {"wrong_block", AttemptEnd::contract, "trace.jsonl: step 1 is of block 1, asked for block 0"},
  }));
  RanksScene scene;
  scene.limits.first_heartbeat = scene.limits.heartbeat_gap = milliseconds(1'000);
  const auto records = scene.pair("ok", behaviour);
  CHECK(records[1].attempts.at(0).end == end);
  INFO(records[1].attempts[0].detail);
  CHECK(begins_with(records[1].attempts[0].detail, words));
  CHECK(records[0].attempts.at(0).detail == "exit code 0");
  CHECK(scene.trace_of(records[0]).steps.size() == 12);
}

}  // namespace
}  // namespace reprobench
