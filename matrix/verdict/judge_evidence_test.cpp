// Which attempts, cells and hosts a verdict is made of, and what it tells of them.

#include "ci/catch.hpp"
#include "matrix/record/sample_attempt.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::candidate;
using sample::threshold;
constexpr auto kUpTo = Bound::Kind::max;

const std::vector<CellThreshold> kSameBits = {threshold("numerics.repeat_mismatches", kUpTo, 0, false)};

// Twins of the sample's cells as they ran on another host, after those of the first.
RunRecord on_two_hosts(std::vector<CellThreshold> thresholds) {
  RunRecord run = sample::run(3, 1.0, std::move(thresholds));
  for (std::size_t i = 0; i < 2; ++i) {
    run.plan.cells.push_back(run.plan.cells[i]);
    run.cells.push_back(run.cells[i]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string host = i < 2 ? "a" : "b";
    Cell& cell = run.plan.cells[i].cell;
    cell.request.cell_id = run.cells[i].cell_id = name_on_host(cell.request.cell_id, host);
    cell.slug = name_on_host(cell.slug, host);
    cell.coordinates["host"] = host;
    if (cell.reference_cell_id) cell.reference_cell_id = name_on_host(*cell.reference_cell_id, host);
  }
  return run;
}

TEST_CASE("a cell is held against its twin on the other host, and one without a twin against nothing", "[verdict]") {
  RunRecord run = on_two_hosts({threshold("numerics.host_mismatches", kUpTo, 0, false)});
  CHECK(judge(run).cells[1].outcome == Outcome::passed);
  CHECK(judge(run).cells[3].outcome == Outcome::passed);
  for (AttemptRecord& attempt : run.cells[3].attempts) attempt = sample::attempt(attempt.repeat, 1000, "other");
  const RunVerdict verdict = judge(run);
  CHECK(verdict.cells[1].outcome == Outcome::failed);
  CHECK(verdict.cells[1].sentence.starts_with("repeat 0 differs from suite-mlp-stack-b@b in 20 of 20 steps"));
  CHECK(verdict.cells[3].outcome == Outcome::failed);
  CHECK(verdict.cells[3].sentence.starts_with("repeat 0 differs from suite-mlp-stack-b@a in 20 of 20 steps"));
  run.plan.cells.pop_back();
  run.cells.pop_back();
  const CellVerdict alone = judge(run).cells[1];
  CHECK(alone.checks.empty());
  CHECK(alone.outcome == Outcome::recorded);
}

TEST_CASE("a twin that crashed leaves the comparison of hosts open", "[verdict]") {
  RunRecord run = on_two_hosts({threshold("numerics.host_mismatches", kUpTo, 0, false)});
  run.cells[3].attempts[2].end = AttemptEnd::crash;
  run.cells[3].attempts[2].detail = "SIGSEGV";
  const CellVerdict cell = judge(run).cells[1];
  CHECK(cell.outcome == Outcome::inconclusive);
  CHECK(cell.reason == "reference_failed");
  CHECK(cell.checks.at(0).sentence == "its reference suite-mlp-stack-b@b is failed: repeat 2: SIGSEGV");
}

TEST_CASE("the line to reproduce a cell of a merged run names it as its own host would", "[verdict]") {
  RunRecord run = on_two_hosts(kSameBits);
  run.plan.request.overrides = {"--repeat 3", "--steps 5"};
  CHECK(judge(run).cells[3].reproduce ==
        "reprobench run --matrix matrix/sample.yaml --cell bbbbbbbbbbbb --repeat 3 --steps 5");
}

// A fault of the device class in the last repeat of a cell, on one GPU.
void break_gpu(CellRecord& cell, const std::string& uuid) {
  AttemptRecord& attempt = cell.attempts[2];
  attempt.end = AttemptEnd::gpu_hw;
  attempt.telemetry = TelemetrySummary{};
  attempt.telemetry->gpus = {{uuid, "00000000:3B:00.0", "NVIDIA H100"}};
  attempt.telemetry->events = {{0, 0, TelemetryEventKind::xid, 79}};
}

TEST_CASE("a device fault follows a stack over GPUs of one driver, not from one driver to another", "[verdict][gpu]") {
  RunRecord run = on_two_hosts(kSameBits);
  for (const char* label : {"a", "b"}) {
    PlanHost host;
    host.label = label;
    host.facts.driver = "570.1";
    run.plan.hosts.push_back(host);
  }
  break_gpu(run.cells[1], "GPU-a");
  break_gpu(run.cells[3], "GPU-b");
  CHECK(judge(run).cells[1].outcome == Outcome::failed);
  CHECK(judge(run).cells[3].outcome == Outcome::failed);
  run.plan.hosts[1].facts.driver = "580.1";
  CHECK(judge(run).cells[1].outcome == Outcome::errored);
  CHECK(judge(run).cells[3].outcome == Outcome::errored);
}

TEST_CASE("planted faults are told once, with the cells they are in and the rank that gets them", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {});
  const Injection nudge{"weight_ulp", 20, "fc1.weight", 5};
  run.plan.cells[0].cell.injections = {{0, nudge}, {2, nudge}};
  run.plan.cells[1].cell.injections = {{1, nudge}, {2, {"hang", 3, "", 0}}};
  CHECK(planted_faults(run.plan) ==
        std::vector<std::string>{"hang at step 3 in 1 cell", "weight_ulp at step 20, fc1.weight[5] in 2 cells"});
  const RunVerdict verdict = judge(run);
  CHECK(candidate(verdict).attempts[0].injected.empty());
  CHECK(candidate(verdict).attempts[1].injected == "weight_ulp at step 20, fc1.weight[5]");
  CHECK(candidate(verdict).attempts[2].injected == "hang at step 3");
  run.plan.cells[0].cell.request.world_size = 2;
  run.plan.cells[0].cell.injections[0].rank = 1;
  CHECK(planted_faults(run.plan)[2] == "weight_ulp at step 20 of rank 1, fc1.weight[5] in 1 cell");
}

TEST_CASE("an attempt took as long as its longest rank, and nothing is said of one without exit records",
          "[verdict][ranks]") {
  RunRecord run = sample::run(3, 1.0, {});
  AttemptRecord& attempt = candidate(run).attempts[1];
  attempt.ranks.resize(3, attempt.lead());
  attempt.ranks[1].exit = ExitRecord{};
  attempt.ranks[1].exit->duration_ns = 7;
  attempt.ranks[2].exit = ExitRecord{};
  attempt.ranks[2].exit->duration_ns = 5;
  const RunVerdict verdict = judge(run);
  CHECK_FALSE(candidate(verdict).attempts[0].duration_ns);
  CHECK(candidate(verdict).attempts[1].duration_ns == 7);
}

TEST_CASE("every attempt is told of, and the log of the last where none alone decided", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kSameBits);
  candidate(run).attempts[0].attempt = 4;
  candidate(run).attempts[0].detail = "exit code 0";
  const CellVerdict cell = candidate(judge(run));
  REQUIRE(cell.attempts.size() == 3);
  CHECK(cell.attempts[0].attempt == 4);
  CHECK(cell.attempts[0].detail == "exit code 0");
  CHECK(cell.attempts[0].end == AttemptEnd::completed);
  CHECK(cell.attempts[2].repeat == 2);
  CHECK(cell.attempts[2].folder == "cells/x/r2");
  CHECK(cell.attempts[2].chain == candidate(run).attempts[2].lead().result->chain);
  CHECK(cell.log_folder == "cells/x/r2");
  CHECK(cell.chain == candidate(run).attempts[0].lead().result->chain);
  CHECK(cell.workload_digest == candidate(run).attempts[0].lead().result->workload_digest);
}

const std::vector<CellThreshold> kConstruction = {threshold("numerics.by_construction_mismatches", kUpTo, 0, false)};

// Cells of one workload, of which the cell at `odd` began with other weights; the last is the one that is judged.
struct SameWorkload {
  explicit SameWorkload(std::size_t odd) : run(sample::run(2, 1.0, kConstruction)) {
    run.plan.cells[1].cell.reference_cell_id.reset();
    run.plan.cells.push_back(run.plan.cells[1]);
    run.cells.push_back(run.cells[1]);
    run.plan.cells[2].cell.request.cell_id = run.cells[2].cell_id = "cccccccccccc";
    run.plan.cells[2].cell.slug = "third";
    for (PlannedCell& planned : run.plan.cells) planned.cell.request.device = "sm_90";
    for (AttemptRecord& attempt : run.cells[odd].attempts) {
      attempt.lead().trace->tensors[0].tensors[0].digest = "odd";
    }
  }
  std::string held_against() const {
    const CellVerdict third = judge(run).cells[2];
    return third.outcome == Outcome::failed ? third.checks.at(0).divergence->against : "its equal";
  }
  Cell& cell(std::size_t i) { return run.plan.cells[i].cell; }

  RunRecord run;
};

TEST_CASE("what is made by construction is held against a reference first, then a cell of the CPU, then the first",
          "[verdict]") {
  SameWorkload scene(0);  // the first two cells differ, so that it shows which of them the third is held against
  CHECK(scene.held_against() == "suite-mlp-stack-a");
  scene.cell(1).request.device = "cpu";
  CHECK(scene.held_against() == "its equal");
  scene.cell(2).reference_cell_id = scene.cell(0).request.cell_id;
  CHECK(scene.held_against() == "suite-mlp-stack-a");
  scene.run.cells[0].attempts[0].end = AttemptEnd::crash;
  CHECK(scene.held_against() == "its equal");
}

TEST_CASE("a cell that trained on a user's file says so, with what an attempt made of its records", "[verdict]") {
  RunRecord run = sample::run(2, 1.0, kSameBits);
  CHECK(candidate(judge(run)).notes.empty());
  WorkloadRequest& workload = run.plan.cells[1].cell.request.workload;
  workload.data_sha256 = "1f";
  workload.data_file = "/my.json";
  CHECK(candidate(judge(run)).notes == std::vector<std::string>{"data: /my.json, SHA-256 1f"});
  candidate(run).attempts[1].lead().result->data = DataUse{3, 3, 0};
  CHECK(candidate(judge(run)).notes ==
        std::vector<std::string>{"data: /my.json, SHA-256 1f: of 3 records 3 are samples"});
}

TEST_CASE("cells of another workload are no anchor", "[verdict]") {
  SameWorkload scene(0);
  WorkloadRequest& workload = scene.cell(0).request.workload;
  SECTION("model") { workload.model = "other"; }
  SECTION("preset") { workload.preset = "other"; }
  SECTION("steps") { workload.steps = 7; }
  SECTION("batch size") { workload.batch_size = 7; }
  SECTION("a file of the user's") { workload.data_sha256 = "a"; }
  SECTION("ranks") { scene.cell(0).request.world_size = 2; }
  SECTION("a knob") { scene.cell(0).request.knobs = {{"precision", "bf16"}}; }
  CHECK(scene.held_against() == "its equal");
}

TEST_CASE("a trace that is not in memory is read from the run, and one that is broken decides nothing", "[verdict]") {
  const TemporaryFolder folder;
  SampleAttempt written;
  RunRecord run = sample::run(2, 1.0, kSameBits);
  run.folder = folder.path;
  run.plan.cells[1].cell.request.cell_id = run.cells[1].cell_id = written.request.cell_id;
  for (AttemptRecord& attempt : candidate(run).attempts) {
    attempt.nonce = written.request.nonce;
    attempt.lead().folder = "cells/x/r" + std::to_string(attempt.repeat) + "/rank-0";
    attempt.lead().trace.reset();
    written.write(folder.path / attempt.lead().folder);
  }
  CHECK(candidate(judge(run)).outcome == Outcome::passed);
  CHECK(candidate(judge(run)).checks.at(0).sentence.starts_with("2 processes have equal bits in all 3 steps"));
  std::filesystem::resize_file(folder.path / "cells/x/r1/rank-0/trace.jsonl", 10);
  CHECK(what_of([&] { judge(run); }) ==
        "cells/x/r1/rank-0: trace.jsonl:1: line cut after 10 bytes; 0 complete lines kept");
}

}  // namespace
}  // namespace reprobench
