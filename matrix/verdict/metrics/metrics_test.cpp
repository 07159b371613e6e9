// What metrics make of one attempt, and of the repeats of a cell, against values by hand.
#include "matrix/verdict/metrics/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

TEST_CASE("every metric's range leaves room on its bad side, and shares of a whole end with it", "[verdict]") {
  for (const MetricInfo& metric : metric_infos()) {
    INFO(metric.name);
    CHECK(metric.least < metric.most);
    CHECK((metric.least == 0 || std::isinf(metric.least)));
    CHECK((metric.most == 1 || std::isinf(metric.most)));
    // `beyond_rounding: {max: 1}` would let every defect pass.
    if (metric.most == 1) CHECK((metric.unit == "rel" || metric.name == "numerics.beyond_rounding"));
  }
  CHECK(find_metric("data.wait_share")->info.most == 1);
  CHECK(find_metric("numerics.beyond_rounding")->info.most == 1);
  CHECK(find_metric("memory.anonymous_growth")->info.least < 0);
  CHECK(find_metric("numerics.loss_fall_rel")->info.least < 0);
}

std::optional<double> metric_of(const char* metric, const AttemptRecord& attempt) {
  return find_metric(metric)->of_attempt({}, attempt).value;
}

Measurement of_cell(const char* metric, const CellEvidence& cell, const CellEvidence* reference = nullptr) {
  return find_metric(metric)->of_cell(cell, reference);
}

CellEvidence cell_with(const std::string& slug, std::vector<AttemptRecord> repeats) {
  return {slug, "cpu", "", std::move(repeats)};
}

AttemptRecord with_memory(std::int64_t StepRecord::*bytes, const std::vector<std::int64_t>& values) {
  AttemptRecord attempt = sample::attempt(0, 1000, "same", static_cast<int>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) attempt.lead().trace->steps[i].*bytes = values[i];
  return attempt;
}

TEST_CASE("a peak is no less than what the steps read", "[verdict]") {
  for (const char* metric : {"memory.peak_anonymous", "memory.peak_rss"}) {
    const bool is_anonymous = metric == std::string("memory.peak_anonymous");
    AttemptRecord attempt =
        with_memory(is_anonymous ? &StepRecord::anonymous_bytes : &StepRecord::rss_bytes, {5, 70, 6});
    auto& peak = is_anonymous ? attempt.lead().result->peak_anonymous_bytes : attempt.lead().result->peak_rss_bytes;
    peak = 10;
    CHECK(metric_of(metric, attempt) == 70);
    peak = 90;
    CHECK(metric_of(metric, attempt) == 90);
    peak = 0;
    CHECK_FALSE(metric_of(metric, attempt));
  }
}

TEST_CASE("memory grows from the middle of the run to its end, not from its start", "[verdict]") {
  const bool is_anonymous = GENERATE(true, false);
  const auto growth = [&](const std::vector<std::int64_t>& values) {
    return metric_of(is_anonymous ? "memory.anonymous_growth" : "memory.rss_growth",
                     with_memory(is_anonymous ? &StepRecord::anonymous_bytes : &StepRecord::rss_bytes, values));
  };
  CHECK(growth({10, 500, 900, 1000, 1007, 1030}) == 130);
  CHECK(growth({10, 20, 1000, 1004, 900}) == 4);  // a low reading at the end hides nothing
  CHECK(growth({10, 20, 1000, 900, 950}) == -50);
  CHECK(growth({0, 50, 57, 59}) == 9);  // a reading belongs to the end of its quarter
  CHECK_FALSE(growth({1, 2, 3}));
  // Steps without a reading are left out: 5, 6, 8, 9 remain.
  CHECK(growth({-1, 5, 6, -1, 8, 9, -1}) == 3);
  CHECK_FALSE(growth({-1, 5, 6, -1, 8}));
}

TEST_CASE("what steps wait for samples is a share of all their time after the warm-up", "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 1000, "same", 20);
  attempt.ranks.reserve(2);
  StepList& steps = attempt.lead().trace->steps;
  CHECK_FALSE(metric_of("data.wait_share", attempt));  // an older worker did not say
  for (StepRecord& step : steps) {
    step.step_time_ns = 1000;
    step.phases.data_wait_ns = step.step <= 10 ? 900 : 0;
  }
  CHECK(metric_of("data.wait_share", attempt) == 0);
  steps[14].phases.data_wait_ns = 500;
  CHECK(metric_of("data.wait_share", attempt) == Approx(0.05));
  steps[15].step_time_ns = 11'000;
  CHECK(metric_of("data.wait_share", attempt) == Approx(0.025));
  attempt.ranks.push_back(attempt.lead());
  attempt.ranks[1].trace->steps[19].phases.data_wait_ns = 500;
  CHECK(metric_of("data.wait_share", attempt) == Approx(0.05));  // the rank that waits longest
  steps[19].phases.data_wait_ns.reset();
  CHECK_FALSE(metric_of("data.wait_share", attempt));
  steps[19].phases.data_wait_ns = 0;
  steps[3].phases.data_wait_ns.reset();  // in the warm-up
  CHECK(metric_of("data.wait_share", attempt));
}

TEST_CASE("growth of what is no file is not hidden by files that the kernel dropped", "[verdict]") {
  AttemptRecord attempt = with_memory(&StepRecord::anonymous_bytes, {1, 2, 30, 40, 50, 60});
  for (StepRecord& step : attempt.lead().trace->steps) step.rss_bytes = 100;
  CHECK(metric_of("memory.anonymous_growth", attempt) == 30);
  CHECK(metric_of("memory.rss_growth", attempt) == 0);
}

TEST_CASE("a peak's share is the largest of the cell's by the least of the reference's", "[verdict]") {
  const auto with_peaks = [](const char* slug, const std::vector<std::int64_t>& peaks) {
    std::vector<AttemptRecord> repeats;
    for (const std::int64_t bytes : peaks) {
      repeats.push_back(sample::attempt(static_cast<int>(repeats.size()), 1000));
      repeats.back().lead().result->peak_anonymous_bytes = bytes;
    }
    return cell_with(slug, std::move(repeats));
  };
  const auto share = [&](const std::vector<std::int64_t>& own, const std::vector<std::int64_t>& of_reference) {
    const CellEvidence reference = with_peaks("all-kept", of_reference);
    return of_cell("memory.peak_anonymous_share", with_peaks("recomputed", own), &reference);
  };
  const Measurement measured = share({100'000'000, 300'000'000, 200'000'000}, {600'000'000, 500'000'000, 700'000'000});
  CHECK(measured.value == Approx(0.6));
  CHECK(measured.repeat == 1);
  CHECK(measured.statement == "300.0 MB, all-kept takes 500.0 MB");
  CHECK(share({100, 0, 100}, {500}).missing == "repeat 1 measured none");
  CHECK(share({100}, {500, 0}).missing == "all-kept measured none");
}

TEST_CASE("the final loss is the last step's", "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 1000);
  CHECK(metric_of("numerics.final_loss", attempt) == Approx(0.1));
  attempt.lead().trace->steps.back().loss = exact_float(0.75f);
  CHECK(metric_of("numerics.final_loss", attempt) == 0.75);
  attempt.lead().trace->steps.clear();
  CHECK_FALSE(metric_of("numerics.final_loss", attempt));
}

TEST_CASE("steps that the median cannot see are in the mean, the 99th percentile and the samples a second",
          "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 1'000'000, "same", 200);
  for (StepRecord& step : attempt.lead().trace->steps)
    step.step_time_ns = step.step % 50 == 0 ? 100'000'000 : 1'000'000;
  CHECK(metric_of("throughput.step_time", attempt) == 1'000'000);
  CHECK(metric_of("throughput.mean_step_time", attempt) == Approx(2'980'000));
  CHECK(metric_of("throughput.step_time_p99", attempt) == 100'000'000);  // 4 of 180
  CHECK(metric_of("throughput.samples", attempt) == Approx(32e9 / 2'980'000));
}

TEST_CASE("the mean counts the warm-up and the slowest rank of each step, the 99th percentile is after the warm-up",
          "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 1000, "same", 20);
  attempt.ranks.reserve(2);
  for (StepRecord& step : attempt.lead().trace->steps) step.step_time_ns = 1000;
  attempt.ranks.push_back(attempt.lead());
  attempt.ranks[1].trace->steps[0].step_time_ns = 81'000;
  CHECK(metric_of("throughput.mean_step_time", attempt) == 5000);
  CHECK(metric_of("throughput.step_time_p99", attempt) == 1000);
  attempt.lead().trace->steps[10].step_time_ns = 21'000;
  CHECK(metric_of("throughput.mean_step_time", attempt) == 6000);
  CHECK(metric_of("throughput.step_time_p99", attempt) == 21'000);
  for (RankRecord& rank : attempt.ranks) rank.trace->steps[0].samples = 52;  // once as many, of both
  CHECK(metric_of("throughput.samples", attempt) == Approx(2 * 660 * 1e9 / 120'000));
}

TEST_CASE("the slowest hundredth of the steps is a mean, and its steps need not be together", "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 1'000'000, "same", 3000);
  for (StepRecord& step : attempt.lead().trace->steps) step.step_time_ns = step.step % 125 == 0 ? 17'000 : 1000;
  CHECK(metric_of("throughput.step_time_p99", attempt) == 1000);
  CHECK(metric_of("throughput.mean_step_time", attempt) == Approx(1128));
  // 22 of the 2,700 steps after warm-up, and five others.
  CHECK(metric_of("throughput.slowest_steps_time", attempt) == Approx((22 * 17'000 + 5 * 1000) / 27.0));
  AttemptRecord brief = sample::attempt(0, 1000, "same", 20);
  for (StepRecord& step : brief.lead().trace->steps) step.step_time_ns = step.step == 1 ? 9000 : 1000 + step.step;
  CHECK(metric_of("throughput.slowest_steps_time", brief) == 1020);
}

TEST_CASE("the slowest quarter of a training is found wherever it lies, warm-up left out", "[verdict]") {
  const auto slow_between = [](std::int64_t from, std::int64_t to) {
    AttemptRecord attempt = sample::attempt(0, 1000, "same", 50);  // ten steps of warm-up, quarters of ten
    for (StepRecord& step : attempt.lead().trace->steps) {
      step.step_time_ns = step.step >= from && step.step <= to ? 1300 : 1000;
    }
    return metric_of("throughput.slowest_quarter_step_time", attempt);
  };
  CHECK(slow_between(0, 0) == 1000);
  CHECK(slow_between(1, 10) == 1000);
  for (const std::int64_t from : {11, 21, 31, 41}) {
    CHECK(slow_between(from, from + 5) == 1300);
    CHECK(slow_between(from, from + 3) == 1000);
  }
  CHECK(slow_between(29, 50) == 1300);
  AttemptRecord attempt = sample::attempt(0, 1000, "same", 4);
  CHECK_FALSE(metric_of("throughput.slowest_quarter_step_time", attempt));  // three after warm-up
}

TEST_CASE("time outside steps is what a process takes beside its start, its steps and its waits", "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 1000, "same", 20);
  RankRecord& rank = attempt.lead();
  for (StepRecord& step : rank.trace->steps) step.step_time_ns = step.step == 1 ? 777 : 1000;
  rank.exit.emplace().duration_ns = 100'000;
  CHECK_FALSE(metric_of("throughput.time_outside_steps", attempt));  // when its first step ended is not known
  rank.result->start_to_first_step_ns = 50'000;
  CHECK(metric_of("throughput.time_outside_steps", attempt) == 31'000);
  rank.result->turns_wait = TurnsWait{30'000, 0};
  CHECK(metric_of("throughput.time_outside_steps", attempt) == 1000);
  attempt.ranks.push_back(rank);
  attempt.ranks[1].exit->duration_ns += 5;
  CHECK(metric_of("throughput.time_outside_steps", attempt) == 1005);
  attempt.ranks[1].exit->duration_ns -= 1005;  // no process lives as long as its steps alone, and none shorter
  CHECK_FALSE(metric_of("throughput.time_outside_steps", attempt));
  attempt.ranks[1].exit->duration_ns -= 1;
  CHECK_FALSE(metric_of("throughput.time_outside_steps", attempt));
  attempt.ranks.pop_back();
  attempt.lead().exit.reset();
  CHECK_FALSE(metric_of("throughput.time_outside_steps", attempt));
  AttemptRecord resumed = sample::attempt(0, 1000, "same", 20);
  resumed.lead().result->start_to_first_step_ns = 1;
  resumed.lead().exit.emplace().duration_ns = 100'000;
  CHECK(metric_of("throughput.time_outside_steps", resumed));
  resumed.segments.emplace_back();
  CHECK_FALSE(metric_of("throughput.time_outside_steps", resumed));
}

TEST_CASE("times, samples and peaks are those of the attempt, and nothing where they were not recorded", "[verdict]") {
  AttemptRecord attempt = sample::attempt(0, 2'000'000);
  CHECK(metric_of("throughput.step_time", attempt) == Approx(2'000'001));
  CHECK(metric_of("throughput.samples", attempt) == Approx(32e9 / 2'000'001.05));  // 0, 1 or 2 ns longer
  CHECK_FALSE(metric_of("throughput.start_to_first_step", attempt));
  attempt.lead().result->start_to_first_step_ns = 1;
  CHECK(metric_of("throughput.start_to_first_step", attempt) == 1);
  attempt.lead().result->peak_rss_bytes = 1;
  CHECK(metric_of("memory.peak_rss", attempt) == 1);
  CHECK_FALSE(metric_of("memory.peak_anonymous", attempt));  // an older worker's, or one that says 0
  attempt.lead().result->peak_anonymous_bytes = 0;
  CHECK_FALSE(metric_of("memory.peak_anonymous", attempt));
  attempt.lead().result->peak_anonymous_bytes = 1;
  CHECK(metric_of("memory.peak_anonymous", attempt) == 1);
  attempt.lead().result->peak_allocated_bytes = 0;
  CHECK(metric_of("memory.device_peak", attempt) == 0);
  attempt.lead().result->peak_allocated_bytes = -1;
  CHECK_FALSE(metric_of("memory.device_peak", attempt));
}

TEST_CASE("the repeat that differs most speaks for the cell", "[verdict]") {
  CellEvidence cell = cell_with("cell", {sample::attempt(0, 1), sample::attempt(1, 1), sample::attempt(2, 1)});
  const Measurement equal = of_cell("numerics.repeat_mismatches", cell);
  CHECK(equal.value == 0);
  CHECK(equal.statement == "3 processes have equal bits in all 20 steps");
  cell.repeats[1].lead().trace->steps[19].root = "x";
  for (std::size_t step = 5; step < 8; ++step) cell.repeats[2].lead().trace->steps[step].root = "y";
  const Measurement differing = of_cell("numerics.repeat_mismatches", cell);
  CHECK(differing.value == 3);
  CHECK(differing.repeat == 2);
  CHECK(differing.divergence->step == 6);
  CHECK(differing.statement == "repeat 2 differs from repeat 0 in 3 of 20 steps");
  CHECK_FALSE(of_cell("numerics.repeat_mismatches", cell_with("cell", {sample::attempt(0, 1)})).value);
}

TEST_CASE("of two repeats that differ the later one is named, of three the odd one", "[verdict]") {
  const AttemptRecord a = sample::attempt(0, 1);
  AttemptRecord b = sample::attempt(1, 1, "other");
  AttemptRecord c = sample::attempt(2, 1, "other");
  CHECK(of_cell("numerics.repeat_mismatches", cell_with("cell", {a, b})).repeat == 1);
  CHECK(of_cell("numerics.repeat_mismatches", cell_with("cell", {a, b, c})).repeat == 0);
  c = sample::attempt(2, 1, "third");
  CHECK(of_cell("numerics.repeat_mismatches", cell_with("cell", {a, b, c})).repeat == 1);
}

TEST_CASE("repeats on other numbers of ranks are no equal bits, neither among themselves nor on another host",
          "[verdict][ranks]") {
  CellEvidence cell = cell_with("cell", {sample::attempt(0, 1), sample::attempt(1, 1)});
  const CellEvidence other = cell;
  cell.repeats[1].ranks.push_back(cell.repeats[1].lead());
  const Measurement among = of_cell("numerics.repeat_mismatches", cell);
  CHECK_FALSE(among.value);
  CHECK(among.missing == "2 ranks against 1");
  CHECK(of_cell("numerics.host_mismatches", cell, &other).missing == "cell: 2 ranks against 1");
  CHECK(of_cell("numerics.host_mismatches", other, &cell).missing == "cell: 2 ranks against 1");
  CHECK(of_cell("numerics.host_mismatches", other, &other).value == 0);
}

TEST_CASE("repeats without a step, such as a probe's, are no equal bits", "[verdict]") {
  CellEvidence probe = cell_with("cell", {sample::attempt(0, 1), sample::attempt(1, 1)});
  for (AttemptRecord& attempt : probe.repeats) attempt.lead().trace->steps.clear();
  const std::string said = "no step was recorded on both sides";
  CHECK(of_cell("numerics.repeat_mismatches", probe).missing == said);
  CHECK(of_cell("numerics.reference_mismatches", probe, &probe).missing == said);
  CHECK(of_cell("numerics.host_mismatches", probe, &probe).missing == "cell: " + said);
  CHECK_FALSE(of_cell("numerics.repeat_mismatches", probe).value);
  CellEvidence one_step = cell_with("cell", {sample::attempt(0, 1), sample::attempt(1, 1)});
  for (AttemptRecord& attempt : one_step.repeats) attempt.lead().trace->steps.resize(1);
  CHECK(of_cell("numerics.repeat_mismatches", one_step).value == 0);
}

TEST_CASE("a single step in which a side's own repeats differ says nothing about another host", "[verdict]") {
  const CellEvidence steady = cell_with("steady", {sample::attempt(0, 1), sample::attempt(1, 1)});
  CellEvidence cell = cell_with("cell", steady.repeats);
  cell.repeats[1].lead().trace->steps[7].root = "x";
  CHECK(of_cell("numerics.host_mismatches", cell, &steady).missing == "cell does not repeat its own bits");
  CHECK(of_cell("numerics.host_mismatches", steady, &cell).missing == "cell does not repeat its own bits");
  const CellEvidence once = cell_with("once", {steady.repeats[0]});
  CHECK(of_cell("numerics.host_mismatches", once, &steady).value == 0);
}

TEST_CASE("the largest loss distance of any step counts, relative to the reference", "[verdict]") {
  CellEvidence cell = cell_with("cell", {sample::attempt(0, 1)});
  CellEvidence reference = cell_with("reference", {sample::attempt(0, 1)});
  CHECK(of_cell("numerics.loss_rel", cell, &reference).value == 0);
  auto& steps = cell.repeats[0].lead().trace->steps;
  auto& expected = reference.repeats[0].lead().trace->steps;
  expected[3].loss = exact_float(4.0);
  steps[3].loss = exact_float(3.0);
  expected[9].loss = exact_float(-2.0);
  steps[9].loss = exact_float(-2.25);
  CHECK(of_cell("numerics.loss_rel", cell, &reference).value == 0.25);
  expected[0].loss = exact_float(0.0);
  steps[0].loss = exact_float(1.0);
  CHECK(*of_cell("numerics.loss_rel", cell, &reference).value > 1e300);  // against zero anything is far
  steps[5].loss = exact_float(std::numeric_limits<double>::quiet_NaN());
  CHECK(std::isnan(*of_cell("numerics.loss_rel", cell, &reference).value));
  steps[5].loss = nlohmann::json("?");
  CHECK_FALSE(of_cell("numerics.loss_rel", cell, &reference).value);
}

TEST_CASE("a gradient that is infinite on one side is infinitely far, on whichever side", "[verdict]") {
  for (const bool on_reference : {false, true}) {
    for (const bool is_nan : {false, true}) {
      CellEvidence cell = cell_with("cell", {sample::attempt(0, 1)});
      CellEvidence reference = cell_with("reference", {sample::attempt(0, 1)});
      CellEvidence& broken = on_reference ? reference : cell;
      TensorSketch& sketch = *broken.repeats[0].lead().trace->tensors[0].tensors[2].sketch;
      (is_nan ? sketch.nan_count : sketch.inf_count) = 1;
      const Measurement found = of_cell("numerics.first_gradient_rel", cell, &reference);
      REQUIRE(found.value);
      CHECK(std::isinf(*found.value));
    }
  }
}

TEST_CASE("the first step's gradients count and no others, and without sketches there is no distance", "[verdict]") {
  CellEvidence cell = cell_with("cell", {sample::attempt(0, 1)});
  const CellEvidence reference = cell_with("reference", {sample::attempt(0, 1)});
  auto& tensors = cell.repeats[0].lead().trace->tensors;
  tensors[1].tensors[2].sketch->signed_sums[0] += 5;  // the second step's
  tensors[0].tensors[0].sketch->signed_sums[0] += 5;  // a parameter
  CHECK(of_cell("numerics.first_gradient_rel", cell, &reference).value == 0);
  tensors[0].tensors[2].sketch->signed_sums[0] += 3;
  tensors[0].tensors[2].sketch->signed_sums[1] += 4;
  CHECK(of_cell("numerics.first_gradient_rel", cell, &reference).value == Approx(2.5));  // 5 against a norm of 2
  tensors[0].tensors[2].sketch.reset();
  const Measurement none = of_cell("numerics.first_gradient_rel", cell, &reference);
  CHECK_FALSE(none.value);
  CHECK(none.missing == "step 1 has no gradient sketches on both sides; the suite needs `trace: tensor`");
}

TEST_CASE("a wrong gradient is not lost beside a large one, and the parameter is named", "[verdict]") {
  CellEvidence cell = cell_with("cell", {sample::attempt(0, 1)});
  const CellEvidence reference = cell_with("reference", {sample::attempt(0, 1)});
  std::vector<TensorRecord>& ours = cell.repeats[0].lead().trace->tensors[0].tensors;
  CellEvidence with_large = reference;
  std::vector<TensorRecord>& theirs = with_large.repeats[0].lead().trace->tensors[0].tensors;
  CHECK(of_cell("numerics.first_gradient_tensor_rel", cell, &with_large).value == 0);
  for (auto* tensors : {&ours, &theirs}) {
    TensorRecord large = (*tensors)[2];
    large.name = "large";
    large.sketch->l2 *= 4e5;
    tensors->push_back(large);
  }
  ours[2].sketch->signed_sums[0] += 3;
  ours[2].sketch->signed_sums[1] += 4;
  ours[2].digest = "other";
  CHECK(*of_cell("numerics.first_gradient_rel", cell, &with_large).value < 1e-5);  // the bound of a suite
  const Measurement found = of_cell("numerics.first_gradient_tensor_rel", cell, &with_large);
  CHECK(*found.value == Approx(2.5));  // 5 against a norm of 2
  CHECK(found.finding == theirs[2].name);
  ours[2].sketch->nan_count = 1;
  CHECK(std::isinf(*of_cell("numerics.first_gradient_tensor_rel", cell, &with_large).value));
  ours[2].sketch.reset();
  CHECK(of_cell("numerics.first_gradient_tensor_rel", cell, &with_large).missing ==
        "step 1 has no gradient sketches on both sides; the suite needs `trace: tensor`");
}

TEST_CASE("a gradient that is rounding alone on both sides counts by what the cell's precision rounds", "[verdict]") {
  const auto distance = [](const char* precision) {
    CellEvidence cell = cell_with("cell", {sample::attempt(0, 1)});
    CellEvidence reference = cell_with("reference", {sample::attempt(0, 1)});
    cell.precision = precision;
    for (CellEvidence* side : {&cell, &reference}) {
      std::vector<TensorRecord>& tensors = side->repeats[0].lead().trace->tensors[0].tensors;
      TensorRecord tiny = tensors[2];
      tiny.name = "bias";
      tiny.sketch->l2 = 1e-9 * tensors[2].sketch->l2;
      tiny.sketch->signed_sums = {side == &cell ? tiny.sketch->l2 : -tiny.sketch->l2};
      tensors.push_back(tiny);
    }
    return *of_cell("numerics.first_gradient_tensor_rel", cell, &reference).value;
  };
  CHECK(distance("fp32") == 0);
  CHECK(distance("fp64") > 1);
}

TEST_CASE("another class of device chooses its algorithms anew", "[verdict]") {
  const CellEvidence cell = cell_with("cell", {sample::attempt(0, 1)});
  CellEvidence reference = cell_with("reference", {sample::attempt(0, 1)});
  reference.device = "sm_90";
  CHECK(of_cell("device.changed_algorithms", cell, &reference).missing ==
        "a library chooses anew for every class of device");
}

TEST_CASE("utilisation needs enough readings of every GPU", "[verdict]") {
  AttemptRecord attempt = sample::attempt(3, 1);
  const auto utilisation = [&] { return find_metric("device.utilisation")->of_attempt({}, attempt); };
  CHECK(utilisation().missing == "repeat 3 had no GPU to read");
  attempt.telemetry = TelemetrySummary{};
  CHECK(utilisation().missing == "repeat 3 has no reading of its GPU's utilisation");
  TelemetryRange range;
  range.median = 45;
  attempt.telemetry->ranges[static_cast<std::size_t>(Quantity::utilisation_percent)] = range;
  attempt.telemetry->gpus.resize(2);
  attempt.telemetry->training_samples = 15;
  CHECK(utilisation().missing == "repeat 3 trained too briefly: 7 readings of its GPU, 8 would say something");
  attempt.telemetry->training_samples = 16;
  CHECK(utilisation().value == 0.45);
}

TEST_CASE("readers are told which metrics compare already, and with what", "[verdict]") {
  const auto compared = [](std::string_view name) {
    for (const MetricInfo& info : metric_infos()) {
      if (info.name == name) return info.compared;
    }
    throw std::logic_error("no such metric");
  };
  for (const char* name : {"numerics.reference_mismatches", "numerics.beyond_rounding", "numerics.first_gradient_rel",
                           "numerics.loss_rel", "numerics.first_gradient_tensor_rel", "numerics.changed_calls",
                           "numerics.broken_calls", "memory.peak_anonymous_share", "device.changed_algorithms",
                           "comm.reference_mismatches", "comm.latency_ratio"}) {
    CHECK(compared(name) == Compared::with_reference);
  }
  for (const char* name :
       {"numerics.repeat_mismatches", "numerics.host_mismatches", "numerics.rank_mismatches",
        "numerics.layout_mismatches", "numerics.by_construction_mismatches", "numerics.resume_mismatches",
        "numerics.replica_mismatches", "memory.optimizer_state_share", "memory.model_state_share",
        "memory.model_state_bound_share", "memory.device_state_bound_share", "throughput.strong_scaling_efficiency",
        "throughput.weak_scaling_efficiency", "comm.repeat_mismatches", "numerics.alike_seeds",
        "numerics.seed_spread_rel", "numerics.forward_mismatches", "numerics.cpu_first_step_rel"}) {
    CHECK(compared(name) == Compared::with_others);
  }
  const auto open = std::ranges::count(metric_infos(), Compared::not_yet, &MetricInfo::compared);
  CHECK(open == static_cast<std::ptrdiff_t>(metric_infos().size()) - 29);
  CHECK(compared("memory.peak_rss") == Compared::not_yet);
  CHECK(compared("comm.latency_p50") == Compared::not_yet);
}

TEST_CASE("what a metric is, by its row: another direction or unit would turn verdicts round", "[verdict]") {
  std::set<std::string> rows;
  for (const Metric& metric : metrics()) {
    const MetricInfo& info = metric.info;
    rows.insert(fmt::format("{} {} {} {} {}{}{}", info.name, info.unit, to_string(info.better),
                            to_string(info.dimension), metric.aggregate == Aggregate::worst ? "worst" : "paired",
                            info.operation_unit.empty() ? "" : fmt::format(" of {}", info.operation_unit),
                            info.is_share ? " share" : ""));
    CHECK(info.summary.size() > 15);
  }
  for (const char* row : {
           "numerics.repeat_mismatches count lower numerics worst",
           "numerics.reference_mismatches count lower numerics worst",
           "numerics.beyond_rounding count lower numerics worst",
           "numerics.host_mismatches count lower numerics worst",
           "numerics.rank_mismatches count lower numerics worst",
           "numerics.layout_mismatches count lower numerics worst",
           "numerics.replica_mismatches count lower numerics worst",
           "numerics.by_construction_mismatches count lower numerics worst",
           "numerics.resume_mismatches count lower numerics worst",
           "numerics.first_gradient_rel rel lower numerics worst",
           "numerics.first_gradient_tensor_rel rel lower numerics worst",
           "numerics.cpu_first_step_rel rel lower numerics worst",
           "numerics.loss_rel rel lower numerics worst",
           "numerics.final_loss loss lower numerics worst",
           "numerics.end_loss loss lower numerics worst",
           "numerics.loss_fall_rel rel higher numerics worst",
           "numerics.weight_change_rel rel lower numerics worst",
           "numerics.alike_seeds count lower numerics worst",
           "numerics.seed_spread_rel rel lower numerics worst",
           "throughput.strong_scaling_efficiency rel higher throughput paired",
           "throughput.weak_scaling_efficiency rel higher throughput paired",
           "memory.optimizer_state_share rel lower memory worst",
           "memory.model_state_share rel lower memory worst",
           "memory.model_state_bound_share rel lower memory worst",
           "memory.device_state_bound_share rel lower memory worst",
           "comm.overlap_share rel higher communication paired",
           "comm.step_share rel lower communication paired",
           "comm.startup_time ns lower communication worst of ns",
           "comm.fitted_bandwidth GB/s higher communication worst of ns",
           "numerics.skipped_updates rel lower numerics worst",
           "numerics.changed_calls count lower numerics worst",
           "numerics.broken_calls count lower numerics worst",
           "throughput.step_time ns lower throughput paired",
           "throughput.samples 1/s higher throughput paired",
           "throughput.mean_step_time ns lower throughput paired",
           "throughput.step_time_p99 ns lower throughput paired",
           "throughput.slowest_steps_time ns lower throughput paired",
           "throughput.slowest_quarter_step_time ns lower throughput paired",
           "throughput.start_to_first_step ns lower throughput paired",
           "throughput.time_outside_steps ns lower throughput paired",
           "throughput.gemm_peak_share rel higher throughput paired",
           "throughput.mfu rel higher throughput paired",
           "data.wait_share rel lower throughput paired",
           "memory.peak_rss bytes lower memory worst",
           "memory.rss_growth bytes lower memory worst",
           "memory.peak_anonymous bytes lower memory worst",
           "memory.peak_anonymous_share rel lower memory worst",
           "memory.anonymous_growth bytes lower memory worst",
           "memory.device_peak bytes lower memory worst",
           "device.utilisation rel higher throughput paired",
           "device.step_energy J lower throughput paired",
           "device.wrong_results count lower numerics worst of any",
           "numerics.forward_mismatches count lower numerics worst",
           "numerics.package_mismatches count lower numerics worst of count",
           "device.stress_mismatches count lower numerics worst of any",
           "device.changed_algorithms count lower numerics worst",
           "device.bandwidth GB/s higher memory paired of GB/s",
           "device.bandwidth_share rel higher memory paired of GB/s share",
           "device.flop_rate TFLOP/s higher throughput paired of TFLOP/s",
           "device.flop_share rel higher throughput paired of TFLOP/s share",
           "device.latency ns lower throughput paired of ns",
           "device.capacity bytes higher memory worst of bytes",
           "comm.wrong_results count lower communication worst of ns",
           "comm.call_mismatches count lower communication worst of ns",
           "comm.rank_mismatches count lower communication worst of ns",
           "comm.repeat_mismatches count lower communication worst",
           "comm.reference_mismatches count lower communication worst",
           "comm.latency_ratio rel lower communication worst",
           "comm.latency_p50 ns lower communication worst of ns",
           "comm.latency_p99 ns lower communication worst of ns",
           "comm.algorithm_bandwidth GB/s higher communication worst of ns",
           "comm.bus_bandwidth GB/s higher communication worst of ns",
           "comm.bus_bandwidth_share rel higher communication worst of ns",
       }) {
    CAPTURE(row);
    CHECK(rows.erase(row) == 1);
  }
  CHECK(rows.empty());
}

TEST_CASE("metrics have their names once, and the table is what the readers are given", "[verdict]") {
  CHECK(find_metric("memory.peak") == nullptr);
  CHECK(metric_infos().size() == metrics().size());
  for (const Metric& metric : metrics()) CHECK(find_metric(metric.info.name) == &metric);
}

}  // namespace
}  // namespace reprobench
