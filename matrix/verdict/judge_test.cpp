#include "matrix/verdict/judge.hpp"

#include <limits>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::candidate;
using sample::threshold;
constexpr auto kMax = Bound::Kind::max;
constexpr auto kRegression = Bound::Kind::max_regression;

const std::vector<CellThreshold> kStepTime = {threshold("throughput.step_time", kRegression, 0.05, true)};

TEST_CASE("10 % slower fails a margin of 5 %, with the ratio in the check", "[verdict]") {
  const RunVerdict verdict = judge(sample::run(7, 1.10, kStepTime));
  CHECK(candidate(verdict).outcome == Outcome::failed);
  CHECK(candidate(verdict).reason == "throughput.step_time");
  CHECK(*candidate(verdict).checks.at(0).ratio == Approx(1.10).epsilon(1e-3));
  CHECK(*candidate(verdict).checks.at(0).margin_rel < 0);
  CHECK(verdict.exit_code == ExitCode::failed);
}

TEST_CASE("a candidate that stalls every tenth step has the reference's median, and fails by its mean", "[verdict]") {
  RunRecord run = sample::run(7, 1.0, kStepTime);
  const auto stall = [](CellRecord& cell) {
    for (AttemptRecord& attempt : cell.attempts) {
      for (const std::size_t i : {9, 19}) attempt.lead().trace->steps[i].step_time_ns *= 100;
    }
  };
  stall(candidate(run));
  CHECK(candidate(judge(run)).outcome == Outcome::passed);
  for (const char* metric : {"throughput.mean_step_time", "throughput.step_time_p99", "throughput.slowest_steps_time",
                             "throughput.samples"}) {
    run.plan.cells[1].cell.thresholds = {threshold(metric, kRegression, 0.15, true)};
    CHECK(candidate(judge(run)).outcome == Outcome::failed);
    CHECK(candidate(judge(run)).reason == metric);
  }
  stall(run.cells[0]);  // the reference stalls alike
  CHECK(candidate(judge(run)).outcome == Outcome::passed);
}

TEST_CASE("10 % faster passes and is marked as a gain", "[verdict]") {
  const RunVerdict verdict = judge(sample::run(7, 0.90, kStepTime));
  CHECK(candidate(verdict).outcome == Outcome::passed);
  CHECK(candidate(verdict).checks.at(0).gain);
  CHECK(verdict.exit_code == ExitCode::passed);
}

TEST_CASE("equal speed passes and is no gain", "[verdict]") {
  const RunVerdict verdict = judge(sample::run(7, 1.0, kStepTime));
  CHECK(candidate(verdict).outcome == Outcome::passed);
  CHECK_FALSE(candidate(verdict).checks.at(0).gain);
}

TEST_CASE("a metric where more is better is judged the other way round", "[verdict]") {
  const std::vector<CellThreshold> samples = {threshold("throughput.samples", kRegression, 0.05, true)};
  CHECK(candidate(judge(sample::run(7, 1.10, samples))).outcome == Outcome::failed);
  const RunVerdict faster = judge(sample::run(7, 0.90, samples));
  CHECK(candidate(faster).outcome == Outcome::passed);
  CHECK(candidate(faster).checks.at(0).gain);
}

TEST_CASE("a dropped metric is inconclusive, never a pass", "[verdict]") {
  RunRecord run = sample::run(7, 1.0, {threshold("memory.device_peak", kRegression, 0.05, true)});
  const RunVerdict verdict = judge(run);
  CHECK(candidate(verdict).outcome == Outcome::inconclusive);
  CHECK(candidate(verdict).reason == "missing_metric");
  CHECK(verdict.exit_code == ExitCode::undecided);
}

TEST_CASE("a metric that one of seven attempts dropped is inconclusive", "[verdict]") {
  RunRecord run = sample::run(7, 1.0, {threshold("memory.peak_rss", kRegression, 0.05, true)});
  candidate(run).attempts[3].lead().result->peak_rss_bytes = 0;
  CHECK(candidate(judge(run)).outcome == Outcome::inconclusive);
}

TEST_CASE("too few repeats for an interval are inconclusive", "[verdict]") {
  const RunVerdict verdict = judge(sample::run(3, 1.0, kStepTime));
  CHECK(candidate(verdict).outcome == Outcome::inconclusive);
  CHECK(candidate(verdict).reason == "too_few_samples");
}

TEST_CASE("an interval that reaches over the bound is inconclusive for noise", "[verdict]") {
  RunRecord run = sample::run(7, 1.0, kStepTime);
  for (int i = 0; i < 7; ++i) {
    candidate(run).attempts[static_cast<std::size_t>(i)] = sample::attempt(i, i % 2 == 0 ? 270'000 : 345'000);
  }
  CHECK(candidate(judge(run)).outcome == Outcome::inconclusive);
  CHECK(candidate(judge(run)).reason == "noise");
}

// Both cells may be repeated up to 28 times; the candidate takes so much longer in each repeat.
RunRecord run_with_looks(const std::vector<double>& slowdowns) {
  const int repeats = static_cast<int>(slowdowns.size());
  RunRecord run = sample::run(repeats, 1.0, kStepTime);
  for (PlannedCell& planned : run.plan.cells) {
    planned.cell.repeat = 7;
    planned.cell.max_repeat = 28;
  }
  for (int i = 0; i < repeats; ++i) {
    const auto at = static_cast<std::size_t>(i);
    run.cells[0].attempts[at] = sample::attempt(i, 300'000);
    candidate(run).attempts[at] = sample::attempt(i, 300'000 * slowdowns[at]);
  }
  return run;
}

TEST_CASE("a noisy repeat leaves a cell open at the first look and no longer at the second", "[verdict]") {
  std::vector<double> slowdowns{1, 1.3, 1, 1.01, 0.99, 1, 1};
  const auto check = [&] { return candidate(judge(run_with_looks(slowdowns))).checks.at(0); };
  CHECK(check().reason == "noise");
  CHECK_THAT(check().sentence, Catch::Contains("the interval of 7 pairs reaches over the bound of 5 %"));
  CHECK(*check().ratio_high == Approx(1.3).epsilon(1e-4));
  slowdowns.resize(14, 1);
  CHECK(check().status == CheckStatus::passed);
  CHECK(check().samples == 14);
  slowdowns[9] = slowdowns[10] = 1.3;
  CHECK(check().reason == "noise");  // three of fourteen: each look has its share of the 5 %, 98.3 % are asked
  slowdowns[10] = 1;
  CHECK(check().status == CheckStatus::passed);
}

TEST_CASE("between two looks a cell is unfinished, however well it stands", "[verdict]") {
  CHECK(candidate(judge(run_with_looks(std::vector<double>(7, 1)))).outcome == Outcome::passed);
  for (const std::size_t repeats : {8, 13, 15, 27}) {
    INFO(repeats);
    const CellVerdict cell = candidate(judge(run_with_looks(std::vector<double>(repeats, 1))));
    CHECK(cell.outcome == Outcome::unfinished);
    CHECK(cell.reason == "interrupted");
  }
  CHECK(candidate(judge(run_with_looks(std::vector<double>(28, 1)))).outcome == Outcome::passed);
  RunRecord hole = run_with_looks(std::vector<double>(14, 1));
  candidate(hole).attempts.erase(candidate(hole).attempts.begin() + 7, candidate(hole).attempts.end() - 1);
  CHECK(candidate(judge(hole)).outcome == Outcome::unfinished);
}

TEST_CASE("a cell that ends worse in a repeat that was added for noise fails", "[verdict]") {
  RunRecord run = run_with_looks(std::vector<double>(14, 1));
  candidate(run).attempts[12].end = AttemptEnd::crash;
  CHECK(candidate(judge(run)).outcome == Outcome::failed);
}

TEST_CASE("a candidate decided at its first look is held against the repeats that ran beside it", "[verdict]") {
  RunRecord run = run_with_looks(std::vector<double>(14, 1));
  for (std::size_t i = 7; i < 14; ++i) run.cells[0].attempts[i] = sample::attempt(static_cast<int>(i), 100'000);
  candidate(run).attempts.resize(7);
  CHECK(candidate(judge(run)).outcome == Outcome::passed);
  CHECK(*candidate(judge(run)).checks.at(0).ratio == Approx(1));
  CHECK_FALSE(candidate(judge(run)).checks.at(0).phases.empty());
  run.cells[0].attempts.resize(7);
  candidate(run) = run_with_looks(std::vector<double>(14, 1)).cells[1];
  CHECK(candidate(judge(run)).checks.at(0).reason == "unpaired");
}

TEST_CASE("a throughput check on netlib's reference BLAS is inconclusive", "[verdict]") {
  RunRecord run = sample::run(7, 1.0, kStepTime);
  for (AttemptRecord& attempt : candidate(run).attempts) attempt.lead().result->fingerprint.blas_provider = "netlib";
  CHECK(candidate(judge(run)).reason == "reference_blas");
}

TEST_CASE("a record-only check decides nothing, whichever way it goes", "[verdict]") {
  const RunVerdict verdict =
      judge(sample::run(7, 1.5, {threshold("throughput.step_time", kRegression, 0.05, true, Gate::record_only)}));
  CHECK(candidate(verdict).outcome == Outcome::recorded);
  CHECK(candidate(verdict).reason == "nothing_armed");
  CHECK(candidate(verdict).checks.at(0).status == CheckStatus::failed);
  CHECK(candidate(verdict).checks.at(0).gate_origin == "suite.yaml:7:3");
}

const std::vector<CellThreshold> kRepeats = {threshold("numerics.repeat_mismatches", kMax, 0, false)};

TEST_CASE("three processes with equal digests pass class A", "[verdict]") {
  CHECK(candidate(judge(sample::run(3, 1.0, kRepeats))).outcome == Outcome::passed);
}

TEST_CASE("a tensor that differs in one of three processes fails the cell and is named", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeats);
  Trace& odd = *candidate(run).attempts[1].lead().trace;
  odd.tensors[11].tensors[0].digest = std::string(32, 'f');
  for (std::size_t i = 11; i < 20; ++i) odd.steps[i].root = std::string(31, 'f') + "0";
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.outcome == Outcome::failed);
  REQUIRE(cell.checks.at(0).divergence);
  CHECK(cell.checks[0].divergence->step == 12);
  CHECK(cell.checks[0].divergence->tensor == "fc1.weight");
  CHECK(cell.checks[0].divergence->role == "parameter");
  CHECK(cell.checks[0].divergence->against == "repeat 0");
  CHECK(*cell.checks[0].measured == 9);
  CHECK(cell.sentence == "repeat 1 differs from repeat 0 in 9 of 20 steps; first at step 12 in fc1.weight (parameter)");
  CHECK(cell.checks[0].repeat == 1);
  CHECK(cell.log_folder == "cells/x/r1");
}

TEST_CASE("where all others agree, the first process is the odd one, and its log is named", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeats);
  AttemptRecord& odd = candidate(run).attempts[0];
  odd.lead().trace->steps.back().root = odd.lead().result->chain = std::string(32, 'f');
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.sentence.starts_with("repeat 0 differs from repeat 1 in 1 of 20 steps"));
  CHECK(cell.log_folder == "cells/x/r0");
}

TEST_CASE("the worst attempt of a peak is named, and its log", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {threshold("memory.peak_rss", kMax, 200 << 20, false)});
  candidate(run).attempts[1].lead().result->peak_rss_bytes = 300 << 20;
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.outcome == Outcome::failed);
  CHECK(*cell.checks.at(0).measured == 300 << 20);
  CHECK(cell.checks.at(0).repeat == 1);
  CHECK(cell.log_folder == "cells/x/r1");
}

TEST_CASE("the log named is that of the attempt that crashed, not the last", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeats);
  candidate(run).attempts[1].end = AttemptEnd::crash;
  CHECK(candidate(judge(run)).log_folder == "cells/x/r1");
  CHECK(candidate(judge(run)).next == "read cells/x/r1/stderr.log of the run");
}

TEST_CASE("a loss that is no number fails a check of its dimension that nothing disarms", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {threshold("memory.peak_rss", kMax, 1e12, false)});
  candidate(run).attempts[2].lead().trace->steps[4].loss = exact_float(std::numeric_limits<float>::quiet_NaN());
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.reason == "non_finite_loss");
  REQUIRE(cell.checks.size() == 2);
  CHECK(cell.checks[1].dimension == Dimension::numerics);
  CHECK(cell.checks[1].gate == Gate::armed);
  CHECK(cell.checks[1].status == CheckStatus::failed);
  CHECK(cell.log_folder == "cells/x/r2");
}

TEST_CASE("a weight that is no number fails a cell whose loss is one", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {threshold("memory.peak_rss", kMax, 1e12, false)});
  TensorRecord& weight = candidate(run).attempts[2].lead().trace->tensors[0].tensors[0];
  weight.role = TensorRole::parameter;
  weight.sketch = TensorSketch{};
  weight.sketch->nan_count = 1;
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.outcome == Outcome::failed);
  CHECK(cell.reason == "non_finite_tensor");
  CHECK(cell.log_folder == "cells/x/r2");
}

TEST_CASE("a difference in the final state alone is seen", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeats);
  for (AttemptRecord& attempt : candidate(run).attempts) {
    TensorsRecord final_state = attempt.lead().trace->tensors.back();
    final_state.is_final = true;
    if (attempt.repeat == 2) final_state.tensors[0].digest = std::string(32, 'e');
    attempt.lead().trace->tensors.push_back(final_state);
  }
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.outcome == Outcome::failed);
  CHECK(cell.checks.at(0).divergence->step == 20);
}

TEST_CASE("a single process cannot prove that a cell repeats", "[verdict]") {
  CHECK(candidate(judge(sample::run(1, 1.0, kRepeats))).outcome == Outcome::inconclusive);
}

TEST_CASE("the gradient distance to the reference is estimated from sketches", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {threshold("numerics.first_gradient_rel", kMax, 1e-5, true)});
  for (int i = 0; i < 3; ++i) candidate(run).attempts[static_cast<std::size_t>(i)] = sample::attempt(i, 3e5, "other");
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.outcome == Outcome::passed);
  CHECK(*cell.checks.at(0).measured == Approx(1e-6).epsilon(1e-6));
  run.plan.cells[1].cell.thresholds = {threshold("numerics.first_gradient_rel", kMax, 1e-7, true)};
  CHECK(candidate(judge(run)).outcome == Outcome::failed);
}

TEST_CASE("a NaN in a gradient that the reference has not is an infinite distance", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, {threshold("numerics.first_gradient_rel", kMax, 1e-5, true)});
  candidate(run).attempts[0].lead().trace->tensors[0].tensors[2].sketch->nan_count = 1;
  const CellVerdict cell = candidate(judge(run));
  CHECK(cell.outcome == Outcome::failed);
  CHECK(cell.checks.at(0).reason == "not_finite");
}

TEST_CASE("a NaN loss fails every rule about the loss", "[verdict]") {
  RunRecord run = sample::run(
      3, 1.0, {threshold("numerics.loss_rel", kMax, 1e-2, true), threshold("numerics.final_loss", kMax, 100, false)});
  for (AttemptRecord& attempt : candidate(run).attempts) {
    attempt.lead().trace->steps.back().loss = exact_float(std::numeric_limits<float>::quiet_NaN());
  }
  const CellVerdict cell = candidate(judge(run));
  for (const CheckResult& check : cell.checks) CHECK(check.status == CheckStatus::failed);
}

TEST_CASE("cells of different workloads are not compared", "[verdict]") {
  RunRecord run = sample::run(7, 1.0, kStepTime);
  for (AttemptRecord& attempt : candidate(run).attempts) attempt.lead().result->workload_digest = std::string(32, 'd');
  CHECK(candidate(judge(run)).reason == "not_comparable");
}

TEST_CASE("repeats that ran different workloads decide nothing, whichever of them is the odd one", "[verdict]") {
  for (const std::size_t odd : {0, 1, 2}) {
    RunRecord run = sample::run(3, 1.0, kRepeats);
    candidate(run).attempts[odd].lead().result->workload_digest = std::string(32, 'd');
    const CellVerdict cell = candidate(judge(run));
    CHECK(cell.outcome == Outcome::inconclusive);
    CHECK(cell.reason == "not_comparable");
    CHECK(cell.sentence == "the repeats of this cell did not run the same workload: their digests differ");
    CHECK(cell.checks.empty());
    CHECK(cell.workload_digest.empty());
  }
}

TEST_CASE("a reference that failed, was skipped or is not there leaves comparisons open", "[verdict]") {
  RunRecord run = sample::run(7, 1.0, kStepTime);
  SECTION("failed") { run.cells[0].attempts[2].end = AttemptEnd::crash; }
  SECTION("skipped") { run.plan.cells[0].skip = Skip{"device-class", "no GPU"}; }
  SECTION("not there") { run.plan.cells[1].cell.reference_cell_id = "cccccccccccc"; }
  SECTION("none named") { run.plan.cells[1].cell.reference_cell_id.reset(); }
  CHECK(candidate(judge(run)).outcome == Outcome::inconclusive);
}

TEST_CASE("the first armed check that failed names the cell's reason, before an open one", "[verdict]") {
  const auto open = threshold("memory.device_peak", kMax, 1, false);
  const auto fails = threshold("memory.peak_rss", kMax, 1, false);
  const auto fails_too = threshold("numerics.final_loss", kMax, 0, false);
  const auto recorded = threshold("memory.rss_growth", kMax, 1, false, Gate::record_only);
  CHECK(candidate(judge(sample::run(3, 1.0, {recorded, open, fails, fails_too}))).reason == "memory.peak_rss");
  CHECK(candidate(judge(sample::run(3, 1.0, {recorded, open}))).reason == "missing_metric");
  const auto holds = threshold("memory.peak_rss", kMax, 1e12, false);
  const CellVerdict cell = candidate(judge(sample::run(3, 1.0, {recorded, holds})));
  CHECK(cell.outcome == Outcome::passed);
  CHECK(cell.sentence == "1 of 1 armed checks passed");
}

TEST_CASE("every planned cell has one entry and the totals equal the plan", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeats);
  PlannedCell skipped = run.plan.cells[1];
  skipped.cell.request.cell_id = "dddddddddddd";
  skipped.skip = Skip{"device-class", "needs a GPU of class sm_90, this host has none"};
  run.plan.cells.push_back(skipped);
  PlannedCell forgotten = run.plan.cells[1];
  forgotten.cell.request.cell_id = "eeeeeeeeeeee";
  run.plan.cells.push_back(forgotten);  // planned, but no record of it
  const RunVerdict verdict = judge(run);
  CHECK(verdict.cells.size() == 4);
  CHECK(verdict.totals.planned == 4);
  CHECK(verdict.totals[Outcome::passed] == 1);
  CHECK(verdict.totals[Outcome::recorded] == 1);  // the reference: nothing is asked of it
  CHECK(verdict.totals[Outcome::skipped] == 1);
  CHECK(verdict.totals[Outcome::unfinished] == 1);
  CHECK(verdict.exit_code == ExitCode::undecided);
}

TEST_CASE("a run in which everything was skipped ran nothing", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeats);
  for (PlannedCell& planned : run.plan.cells) planned.skip = Skip{"device-class", "no GPU"};
  CHECK(judge(run).exit_code == ExitCode::nothing_ran);
  run.plan.cells.clear();
  CHECK(judge(run).exit_code == ExitCode::nothing_ran);
}

TEST_CASE("a failed check wins over whatever else is open", "[verdict]") {
  RunRecord run = sample::run(7, 1.10, kStepTime);
  run.cells[0].attempts[0].end = AttemptEnd::completed;
  PlannedCell forgotten = run.plan.cells[1];
  forgotten.cell.request.cell_id = "eeeeeeeeeeee";
  run.plan.cells.push_back(forgotten);
  CHECK(judge(run).exit_code == ExitCode::failed);
}

TEST_CASE("an interrupted run says so, whatever its cells say", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeats);
  run.info.interrupted = true;
  const RunVerdict verdict = judge(run);
  CHECK(verdict.word == "interrupted");
  CHECK(verdict.exit_code == ExitCode::interrupted);
}

}  // namespace
}  // namespace reprobench
