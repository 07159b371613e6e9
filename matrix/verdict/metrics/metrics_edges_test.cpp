// Metrics of several ranks and repeats that tie, and of runs without steps or time.
#include <cmath>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/verdict/metrics/metrics.hpp"
#include "matrix/verdict/metrics/probe_metrics.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

Measurement held(const char* metric, const CellEvidence& cell, const CellEvidence* reference) {
  return find_metric(metric)->of_cell(cell, reference);
}

CellEvidence on_two_ranks(const std::string& slug) {
  AttemptRecord attempt = sample::attempt(0, 1000);
  attempt.ranks.push_back(attempt.lead());
  return {slug, "cpu", "", {attempt}};
}

void end_otherwise(AttemptRecord& attempt, std::size_t rank, const std::string& digest) {
  Trace& trace = *attempt.ranks[rank].trace;
  TensorsRecord state = trace.tensors.back();
  state.is_final = true;
  state.tensors[0].digest = digest;
  trace.tensors.push_back(state);
}

TEST_CASE("where bits differ is told by steps and by the state after them", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {sample::attempt(0, 1)}};
  CellEvidence reference{"other", "cpu", "", {sample::attempt(0, 1)}};
  const auto said = [&] { return held("numerics.reference_mismatches", cell, &reference); };
  CHECK(said().statement == "repeat 0 has the bits of other in all 20 steps");
  CHECK_FALSE(said().divergence);
  end_otherwise(reference.repeats[0], 0, "one");
  end_otherwise(cell.repeats[0], 0, "two");
  CHECK(said().statement == "repeat 0 differs from other in the state after the last step");
  CHECK(said().value == 1);
  cell.repeats[0].lead().trace->steps[3].root = "x";
  CHECK(said().statement == "repeat 0 differs from other in 1 of 20 steps and the state after them");
  CHECK(said().value == 2);
}

TEST_CASE("every repeat is held against the other side, not the first alone", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {sample::attempt(0, 1), sample::attempt(1, 1), sample::attempt(2, 1)}};
  const CellEvidence reference{"other", "cpu", "", {sample::attempt(0, 1)}};
  const auto said = [&](const char* metric) { return held(metric, cell, &reference); };
  CHECK(said("numerics.reference_mismatches").value == 0);
  CHECK(said("numerics.loss_rel").value == 0);
  cell.repeats[1].lead().trace->steps[3].root = "x";
  cell.repeats[1].lead().trace->steps[3].loss = exact_float(9.0);
  CHECK(said("numerics.reference_mismatches").value == 1);
  CHECK(said("numerics.reference_mismatches").repeat == 1);
  CHECK(said("numerics.loss_rel").value > 0);
  cell.repeats[2].lead().trace->steps[3].loss = exact_float(std::nan(""));
  CHECK(std::isnan(said("numerics.loss_rel").value.value()));
  cell.repeats[2].lead().trace->steps.clear();
  CHECK_FALSE(said("numerics.reference_mismatches").value);
}

TEST_CASE("equal bits need no diagnosis, and other bits pass as rounding alone", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {sample::attempt(0, 1)}};
  const CellEvidence reference{"other", "cpu", "", {sample::attempt(0, 1)}};
  const auto said = [&] { return held("numerics.beyond_rounding", cell, &reference); };
  CHECK(said().value == 0);
  CHECK(said().statement == "repeat 0 has the bits of other in all 20 steps");
  cell.repeats[0].lead().trace->steps[3].root = "x";
  CHECK(said().missing == "repeat 0 differs from other in 1 of 20 steps; what the difference is was not asked");
  CHECK(said().missing_reason == "undiagnosed");
  const auto diagnosed = [&](ExplainedWord word) {
    const CellDiagnosis diagnosis{"cell", "other", word, "aten::mm made it"};
    cell.diagnosis = &diagnosis;
    return said();
  };
  CHECK(diagnosed(ExplainedWord::rounding).value == 0);
  CHECK(diagnosed(ExplainedWord::rounding).statement == "rounding: aten::mm made it");
  CHECK(diagnosed(ExplainedWord::another_computation).value == 1);
  CHECK(diagnosed(ExplainedWord::defect).value == 1);
  CHECK(diagnosed(ExplainedWord::defect).statement == "defect: aten::mm made it");
  CHECK_FALSE(diagnosed(ExplainedWord::undecided).value);
  CHECK(diagnosed(ExplainedWord::undecided).missing == "undecided: aten::mm made it");
  CHECK(diagnosed(ExplainedWord::undecided).missing_reason == "undiagnosed");
}

TEST_CASE("every repeat of both sides is held against every one of the other before bits count as equal", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {sample::attempt(0, 1), sample::attempt(1, 1)}};
  CellEvidence reference{"other", "cpu", "", {sample::attempt(0, 1), sample::attempt(1, 1)}};
  CHECK(held("numerics.beyond_rounding", cell, &reference).value == 0);
  SECTION("a repeat of the cell") { cell.repeats[1].lead().trace->steps[3].root = "x"; }
  SECTION("a repeat of the reference") { reference.repeats[1].lead().trace->steps[3].root = "x"; }
  CHECK_FALSE(held("numerics.beyond_rounding", cell, &reference).value);
}

TEST_CASE("of ranks that differ as much the first is named, and else the one that differs most", "[verdict][ranks]") {
  CellEvidence cell = on_two_ranks("cell");
  const CellEvidence reference = on_two_ranks("other");
  const auto said = [&] { return held("numerics.reference_mismatches", cell, &reference).statement; };
  CHECK(said() == "repeat 0 has the bits of other, rank 0 in all 20 steps");
  for (RankRecord& rank : cell.repeats[0].ranks) rank.trace->steps[3].root = "x";
  CHECK(said() == "repeat 0 differs from other, rank 0 in 1 of 20 steps");
  cell.repeats[0].ranks[1].trace->steps[4].root = "x";
  CHECK(said() == "repeat 0 differs from other, rank 1 in 2 of 20 steps");
}

TEST_CASE("a distance is the largest of all ranks, and none where one of them has none", "[verdict][ranks]") {
  for (const std::size_t far : {0, 1}) {
    CellEvidence cell = on_two_ranks("cell");
    const CellEvidence reference = on_two_ranks("other");
    auto& steps = cell.repeats[0].ranks[far].trace->steps;
    auto& others = cell.repeats[0].ranks[1 - far].trace->steps;
    steps[0].loss = exact_float(2.5);  // of 2
    others[0].loss = exact_float(2.25);
    CHECK(*held("numerics.loss_rel", cell, &reference).value == Approx(0.25));
    steps[0].loss = exact_float(std::nan(""));
    CHECK(std::isnan(*held("numerics.loss_rel", cell, &reference).value));
    steps[0].loss = nullptr;
    CHECK(held("numerics.loss_rel", cell, &reference).missing == "a loss is missing");
  }
}

TEST_CASE("of peaks that are as large the first repeat is named", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {}};
  for (const std::int64_t bytes : {1, 3, 3}) {
    cell.repeats.push_back(sample::attempt(static_cast<int>(cell.repeats.size()), 1000));
    cell.repeats.back().lead().result->peak_anonymous_bytes = bytes;
  }
  CHECK(held("memory.peak_anonymous_share", cell, &cell).repeat == 1);
  CHECK(held("memory.peak_anonymous_share", cell, &cell).value == 3);
}

TEST_CASE("a run without steps, or whose steps take no time, has no times and no shares of them", "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 1000);
  for (StepRecord& step : attempt.lead().trace->steps) {
    step.step_time_ns = 0;
    step.phases.data_wait_ns = 0;
  }
  CHECK_FALSE(find_metric("data.wait_share")->of_attempt({}, attempt).value);
  CHECK_FALSE(find_metric("throughput.samples")->of_attempt({}, attempt).value);
  for (StepRecord& step : attempt.lead().trace->steps) step.step_time_ns = 1;
  CHECK(find_metric("data.wait_share")->of_attempt({}, attempt).value == 0);
  attempt.lead().trace->steps.clear();
  for (const char* metric : {"throughput.step_time", "throughput.mean_step_time", "throughput.step_time_p99",
                             "throughput.slowest_steps_time", "throughput.slowest_quarter_step_time",
                             "throughput.time_outside_steps", "throughput.samples", "data.wait_share"}) {
    CHECK_FALSE(find_metric(metric)->of_attempt({}, attempt).value);
  }
}

TEST_CASE("utilisation of a GPU that nobody named is that of one GPU", "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 1);
  attempt.telemetry = TelemetrySummary{};
  attempt.telemetry->ranges[static_cast<std::size_t>(Quantity::utilisation_percent)] = TelemetryRange{0, 45, 100};
  attempt.telemetry->training_samples = 8;
  CHECK(find_metric("device.utilisation")->of_attempt({}, attempt).value == 0.45);
  attempt.telemetry->training_samples = 7;
  CHECK_FALSE(find_metric("device.utilisation")->of_attempt({}, attempt).value);
}

ProbeMeasurement rate_of(const std::string& operation, const std::string& unit, const std::string& size, double value) {
  ProbeMeasurement measurement;
  measurement.operation = operation;
  measurement.labels = {{"size", size}};
  measurement.unit = unit;
  measurement.status = MeasurementStatus::measured;
  measurement.samples = {value};
  return measurement;
}

TEST_CASE("a share is of what was measured in the same unit", "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 1000);
  auto& measurements = attempt.lead().result->measurements;
  measurements = {rate_of("triad", "GB/s", "1MiB", 50), rate_of("copy", "GB/s", "1MiB", 100),
                  rate_of("copy", "ns", "1MiB", 9'000), rate_of("copy", "GB/s", "2MiB", 9'000),
                  rate_of("chase", "ns", "1MiB", 9'000)};
  const auto share_of = [&](const std::string& whole) { return best_bandwidth_share(attempt, {"triad", {}, whole}); };
  CHECK(share_of("copy").value == 0.5);
  CHECK(share_of("measured_peak").value == 0.5);
  CHECK(share_of("chase").missing == "no chase was measured that triad could be a share of");
  measurements[1].status = MeasurementStatus::wrong;
  measurements[1].samples.clear();
  CHECK(share_of("copy").missing == "no copy was measured that triad could be a share of");
  CHECK(share_of("measured_peak").value == 1);
  measurements[1] = rate_of("copy", "GB/s", "1MiB", 0);
  CHECK_FALSE(share_of("copy").value);
}

TEST_CASE("algorithms are compared by operation and labels, and where both sides told one", "[verdict]") {
  const auto result = [](const std::string& operation, const std::string& size, const std::string& algorithm) {
    CellResult one;
    one.measurements = {rate_of(operation, "TFLOP/s", size, 1)};
    one.measurements[0].algorithm = algorithm;
    return one;
  };
  const CellResult ours = result("conv", "1MiB", "fft");
  CHECK(changed_algorithms_between(ours, result("conv", "1MiB", "winograd")).value == 1);
  CHECK_FALSE(changed_algorithms_between(ours, result("gemm", "1MiB", "winograd")).value);
  CHECK_FALSE(changed_algorithms_between(ours, result("conv", "2MiB", "winograd")).value);
  CHECK_FALSE(changed_algorithms_between(ours, result("conv", "1MiB", "")).value);
  CHECK_FALSE(changed_algorithms_between(result("conv", "1MiB", ""), ours).value);
}

TEST_CASE("a step's energy is the telemetry's, and where it has none the reason is", "[verdict][gpu]") {
  const Metric* energy = find_metric("device.step_energy");
  REQUIRE(energy != nullptr);
  CHECK(energy->info.unit == "J");
  CHECK(energy->info.better == Better::lower);
  AttemptRecord attempt;
  attempt.repeat = 2;
  CHECK(energy->of_attempt({}, attempt).missing == "repeat 2: it had no GPU to read");
  attempt.telemetry = TelemetrySummary{};
  attempt.telemetry->step_energy_missing = "the energy counter of GPU-a went backwards";
  CHECK(energy->of_attempt({}, attempt).missing == "repeat 2: the energy counter of GPU-a went backwards");
  attempt.telemetry->step_energy_j = 3.5;
  CHECK(energy->of_attempt({}, attempt).value == 3.5);
}

}  // namespace
}  // namespace reprobench
