// What a run may say, and the cheapest ways to make it say more.
#include "matrix/verdict/summary.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using sample::candidate;
using sample::threshold;

const std::vector<CellThreshold> kHolds = {threshold("memory.peak_rss", Bound::Kind::max, 1e12, false)};
const std::vector<CellThreshold> kFails = {threshold("memory.peak_rss", Bound::Kind::max, 1, false)};

// A further cell of the plan that does not run; `like` is copied.
PlannedCell& add_skipped(RunRecord& run, std::size_t like, const std::string& id, const std::string& rule) {
  PlannedCell cell = run.plan.cells[like];
  cell.cell.request.cell_id = id;
  cell.cell.slug += "-" + id;
  cell.skip = Skip{rule, "why " + id};
  run.plan.cells.push_back(std::move(cell));
  return run.plan.cells.back();
}

// The candidate ran alone with its reference; `count` other cells were left out.
RunRecord selection(int left_out) {
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.plan.request.selected_by = {"--stack stack-b"};
  for (int i = 0; i < left_out; ++i) add_skipped(run, 1, "left-" + std::to_string(i), kDeselected);
  return run;
}

TEST_CASE("a whole matrix in which every armed check holds qualifies, for the devices that ran", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.plan.cells[0].cell.thresholds = kHolds;
  CHECK(judge(run).sentence == "sample qualified on cpu: all 2 cells that ran passed");
  add_skipped(run, 1, "gpu", "device-class").cell.coordinates["device"] = "sm_90";
  CHECK(judge(run).sentence == "sample qualified on cpu: all 2 cells that ran passed; nothing ran on sm_90");
  CHECK(judge(run).exit_code == ExitCode::passed);
}

TEST_CASE("cells that were skipped where others ran are counted", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  add_skipped(run, 1, "one", "no-wheel");
  CHECK_THAT(judge(run).sentence, Catch::EndsWith("; 1 cell was skipped"));
  add_skipped(run, 1, "two", "no-wheel");
  CHECK_THAT(judge(run).sentence, Catch::EndsWith("; 2 cells were skipped"));
  add_skipped(run, 1, "gpu", "device-class").cell.coordinates["device"] = "sm_90";
  CHECK_THAT(judge(run).sentence, Catch::EndsWith("; nothing ran on sm_90; 2 more cells were skipped"));
}

TEST_CASE("what the matrix excludes, and attempts that were made again, are said with their causes", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.plan.excluded = 1;
  CHECK_THAT(judge(run).sentence, Catch::EndsWith("; the matrix excludes 1 cell"));
  CHECK(judge(run).excluded == 1);
  run.plan.excluded = 2;
  const auto again = [&](int repeat, int attempt, AttemptEnd end) {
    AttemptRecord lost = sample::attempt(repeat, 300'000);
    lost.attempt = attempt;
    lost.end = end;
    candidate(run).attempts.push_back(lost);
  };
  candidate(run).attempts[1].attempt = 1;
  again(1, 0, AttemptEnd::lost);
  CHECK_THAT(judge(run).sentence, Catch::EndsWith("; the matrix excludes 2 cells; 1 attempt was made again (1 lost)"));
  candidate(run).attempts[2].attempt = 2;
  again(2, 0, AttemptEnd::lost);
  again(2, 1, AttemptEnd::launch);
  CHECK_THAT(judge(run).sentence, Catch::EndsWith("; 3 attempts were made again (1 launch, 2 lost)"));
  CHECK(judge(run).exit_code == ExitCode::passed);
}

TEST_CASE("a cell of which nothing was asked is not counted as passed", "[verdict]") {
  const RunVerdict verdict = judge(sample::run(3, 1.0, kHolds));
  CHECK(verdict.cells[0].outcome == Outcome::recorded);
  CHECK(verdict.totals[Outcome::passed] == 1);
  CHECK(verdict.sentence == "sample qualified on cpu: the one cell with an armed check passed, 1 was only recorded");
}

TEST_CASE("a device on which nothing was asked is not one the matrix is qualified on", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.plan.cells[0].cell.coordinates["device"] = "sm_90";  // the reference, of which nothing is asked
  CHECK_THAT(judge(run).sentence, StartsWith("sample qualified on cpu:") && Contains("; nothing was asked on sm_90"));
}

TEST_CASE("a run without an armed check is undecided", "[verdict]") {
  const auto gate = GENERATE(Gate::record_only, Gate::armed);
  RunRecord run = sample::run(3, 1.0, {threshold("memory.peak_rss", Bound::Kind::max, 1e12, false, gate)});
  CHECK(judge(run).exit_code == (gate == Gate::armed ? ExitCode::passed : ExitCode::undecided));
  if (gate == Gate::record_only) CHECK_THAT(judge(run).sentence, Contains("no check was armed"));
}

TEST_CASE("a selection says how much it is and never qualifies", "[verdict]") {
  RunRecord run = selection(188);
  const RunVerdict verdict = judge(run);
  CHECK_THAT(verdict.sentence, StartsWith("2 of 190 cells selected: no verdict on sample; the one cell with an armed"));
  CHECK(verdict.sentence.find("qualified") == std::string::npos);
  CHECK(verdict.exit_code == ExitCode::passed);
  CHECK(verdict.cells.size() == 190);
  CHECK(verdict.totals[Outcome::skipped] == 188);
  CHECK(verdict.cells.back().reason == kDeselected);
}

TEST_CASE("a required cell that was left out makes a selection undecided, unless cells were named", "[verdict]") {
  RunRecord run = selection(1);
  run.plan.cells[2].cell.required = true;
  CHECK(judge(run).exit_code == ExitCode::undecided);
  CHECK_THAT(judge(run).sentence, Contains("no cell that ran failed, but a required one was left out. First: "));
  run.plan.request.names_cells = true;
  CHECK(judge(run).exit_code == ExitCode::passed);
  CHECK_THAT(judge(run).sentence, StartsWith("2 of 3 cells selected: no verdict on sample"));
  // A named one that cannot run is no pass.
  run.plan.cells[2].skip = Skip{"device-class", "no GPU"};
  CHECK(judge(run).exit_code == ExitCode::undecided);
}

TEST_CASE("a failing selection fails, and says nothing of the matrix either", "[verdict]") {
  RunRecord run = selection(3);
  run.plan.cells[1].cell.thresholds = kFails;
  const RunVerdict verdict = judge(run);
  CHECK(verdict.exit_code == ExitCode::failed);
  CHECK_THAT(verdict.sentence, StartsWith("2 of 5 cells selected: no verdict on sample; 1 of 2 cells that ran failed"));
}

TEST_CASE("an empty selection ran nothing", "[verdict]") {
  RunRecord run = selection(0);
  for (PlannedCell& planned : run.plan.cells) planned.skip = Skip{kDeselected, "left out"};
  CHECK(judge(run).exit_code == ExitCode::nothing_ran);
  CHECK_THAT(judge(run).sentence, Contains("the selection is empty"));
}

TEST_CASE("a run that was asked for less than the matrix says gives no verdict on it", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.plan.request.changed_by = {"--repeat 1"};
  run.plan.request.overrides = {"--repeat 1"};
  CHECK_THAT(judge(run).sentence, StartsWith("run with --repeat 1: no verdict on sample;"));
  CHECK_THAT(candidate(judge(run)).reproduce, Catch::EndsWith(" --repeat 1"));
}

TEST_CASE("a drill says so first and never qualifies, found or not", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.plan.cells[1].cell.injections[1] = {"weight_ulp", 20, "fc1.weight", 5};
  const bool found = GENERATE(true, false);
  if (found) run.plan.cells[1].cell.thresholds = kFails;
  const RunVerdict verdict = judge(run);
  CHECK_THAT(verdict.sentence,
             StartsWith("DRILL, planted: weight_ulp at step 20, fc1.weight[5] in 1 cell: no verdict"));
  CHECK(verdict.sentence.find("qualified") == std::string::npos);
  CHECK(verdict.exit_code == (found ? ExitCode::failed : ExitCode::undecided));
}

TEST_CASE("a fault planted only in cells that did not run makes a drill all the same", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  add_skipped(run, 1, "gpu", "device-class").cell.injections[0] = {"weight_nan", 1, "fc1.weight", 0};
  CHECK_THAT(judge(run).sentence, StartsWith("DRILL, planted: weight_nan at step 1, fc1.weight[0] in 0 cells"));
  CHECK(judge(run).exit_code == ExitCode::undecided);
}

TEST_CASE("a fault that cannot be planted is the asker's mistake and not the stack's", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.plan.cells[1].cell.injections[1] = {"weight_ulp", 20, "no.such.tensor", 5};
  AttemptRecord& refused = candidate(run).attempts[1];
  refused.end = AttemptEnd::worker_error;
  refused.lead().result->failure =
      WorkerFailure{"bad_request", "inject: the model has no parameter `no.such.tensor`", 0};
  CHECK(candidate(judge(run)).outcome == Outcome::errored);
  CHECK(candidate(judge(run)).reason == kBadInjection);
  CHECK(judge(run).exit_code == ExitCode::usage);
  SECTION("a refusal without a fault is the worker's") {
    run.plan.cells[1].cell.injections.clear();
    CHECK(candidate(judge(run)).outcome == Outcome::failed);
  }
  SECTION("a fault that sits elsewhere too leaves the run undecided") {
    run.plan.cells[0].cell.injections[0] = {"weight_ulp", 20, "fc1.weight", 5};
    CHECK(judge(run).exit_code == ExitCode::undecided);
  }
}

TEST_CASE("the reference alone qualifies nothing", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.plan.cells[0].cell.thresholds = kHolds;
  run.plan.cells[1].skip = Skip{"stack-missing", "not installed"};
  CHECK(judge(run).exit_code == ExitCode::undecided);
  CHECK_THAT(judge(run).sentence, Contains("only cells of the reference ran") && Contains("; nothing ran of stack-b"));
  // Where devices are compared, the one device that is there is judged by its own checks.
  run.plan.cells[1].cell.coordinates["stack"] = "stack-a";
  run.plan.cells[1].cell.coordinates["device"] = "sm_90";
  CHECK(judge(run).exit_code == ExitCode::passed);
}

TEST_CASE("a required cell that is skipped makes the run undecided", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  PlannedCell& skipped = add_skipped(run, 1, "gpu", "device-class");
  CHECK(judge(run).exit_code == ExitCode::passed);
  skipped.cell.required = true;
  CHECK(judge(run).exit_code == ExitCode::undecided);
  CHECK_THAT(judge(run).sentence,
             Contains("a required one did not run; 1 cell was skipped. First: suite-mlp-stack-b-gpu"));
}

TEST_CASE("what a required cell cannot answer makes the run undecided, unless something failed", "[verdict]") {
  const auto [reason, metric] =
      GENERATE(std::pair("unarmed", "throughput.armed_checks"), std::pair("own_reference", "throughput.reference"));
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.plan.cells[1].cell.required = true;
  CHECK(judge(run).exit_code == ExitCode::passed);
  run.plan.cells[1].cell.gaps = {{Dimension::throughput, reason, "why it cannot"}};
  const RunVerdict verdict = judge(run);
  CHECK(verdict.exit_code == ExitCode::undecided);
  CHECK(candidate(verdict).outcome == Outcome::inconclusive);
  CHECK(candidate(verdict).reason == reason);
  CHECK_THAT(verdict.sentence, Catch::EndsWith(": why it cannot"));
  CHECK(candidate(verdict).checks.back().metric == metric);
  CHECK(candidate(verdict).checks.back().origin == "built in");
  CHECK(verdict.dimensions[1].word == "inconclusive");
  CHECK(verdict.dimensions[2].word == "passed");
  run.plan.cells[1].cell.thresholds = kFails;
  CHECK(judge(run).exit_code == ExitCode::failed);
}

TEST_CASE("an interrupted run counts what ended, not what was planned", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kHolds);
  run.info.interrupted = true;
  run.cells[1].attempts.resize(1);
  CHECK(judge(run).sentence ==
        "sample UNDECIDED: the run was interrupted after 1 of 2 cells; 0 failed, 1 unfinished, 1 recorded");
}

}  // namespace
}  // namespace reprobench
