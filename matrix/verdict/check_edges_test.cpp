// Bounds at zero and below, metrics of which more is better, and what a check says where it decides nothing.
#include <limits>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/verdict/check.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

constexpr auto kUpper = Bound::Kind::max;
constexpr auto kFromBelow = Bound::Kind::min;
constexpr auto kByRatio = Bound::Kind::max_regression;

// Repeats of a probe with one measurement each.
CellEvidence probed(const std::string& slug, const char* unit, const std::vector<double>& values) {
  CellEvidence cell{slug, "cpu", "", {}};
  for (const double value : values) {
    cell.repeats.push_back(sample::attempt(static_cast<int>(cell.repeats.size()), 1000));
    ProbeMeasurement measurement;
    measurement.operation = "x";
    measurement.unit = unit;
    measurement.status = MeasurementStatus::measured;
    measurement.samples = {value};
    cell.repeats.back().lead().result->measurements = {measurement};
  }
  return cell;
}

CheckResult against(const char* metric, const CellEvidence& cell, const CellEvidence& reference, double limit) {
  return evaluate(sample::threshold(metric, kByRatio, limit, true), cell, {&reference, {}, ""});
}

CheckResult alone(const char* metric, const CellEvidence& cell, Bound::Kind kind, double limit) {
  return evaluate(sample::threshold(metric, kind, limit, false), cell, {});
}

TEST_CASE("where more is better the least repeat stands for the others, and less is worse", "[verdict]") {
  const CellEvidence reference = probed("reference", "bytes", {110, 100, 120});
  const CheckResult least = alone("device.capacity", probed("cell", "bytes", {90, 75, 80}), kFromBelow, 75);
  CHECK(*least.measured == 75);
  CHECK(least.repeat == 1);
  CHECK(least.status == CheckStatus::passed);
  const CheckResult worse = against("device.capacity", probed("cell", "bytes", {90, 75, 80}), reference, 0.25);
  CHECK(worse.status == CheckStatus::failed);
  CHECK(*worse.ratio == Approx(0.75));
  CHECK(*worse.margin_rel == Approx((0.25 - 1.0 / 3) / 0.25));
  const CheckResult better = against("device.capacity", probed("cell", "bytes", {160, 170, 180}), reference, 0.25);
  CHECK(better.gain);
  CHECK(better.status == CheckStatus::passed);
}

TEST_CASE("a time is the median of its repeats, which none of them decides", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {}};
  for (const double time_ns : {5e6, 1e6, 9e6}) {
    cell.repeats.push_back(sample::attempt(static_cast<int>(cell.repeats.size()), time_ns));
  }
  const CheckResult check = alone("throughput.step_time", cell, kUpper, 6e6);
  CHECK(*check.measured == Approx(5e6).epsilon(1e-5));
  CHECK(check.status == CheckStatus::passed);
  CHECK_FALSE(check.repeat);
  const CheckResult few = against("throughput.step_time", cell, cell, 0.05);
  CHECK(few.reason == "too_few_samples");
  CHECK(few.sentence == "3 pairs give no 95 % interval of the ratio; 6 positive ones would");
  CHECK(*few.reference == *few.measured);
}

TEST_CASE("an interval over its bound says that more repeats would decide it", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {}};
  CellEvidence reference{"reference", "cpu", "", {}};
  for (int i = 0; i < 7; ++i) {
    cell.repeats.push_back(sample::attempt(i, i % 2 == 0 ? 900'000 : 1'200'000));
    reference.repeats.push_back(sample::attempt(i, 1'000'000));
  }
  const CheckResult noisy = against("throughput.step_time", cell, reference, 0.05);
  CHECK(noisy.reason == "noise");
  CHECK_THAT(noisy.sentence,
             Catch::StartsWith(
                 "900.0 us against 1.000 ms: x0.900 [0.900, 1.200]: the interval of 7 pairs reaches over the bound "
                 "of 5 %; more repeats or a quieter machine would decide it"));
}

TEST_CASE("a regression of nothing has no margin to be told", "[verdict]") {
  const CellEvidence cell = probed("cell", "bytes", {100});
  const CheckResult same = against("device.capacity", cell, cell, 0);
  CHECK_FALSE(same.margin_rel);
  CHECK(*same.ratio == 1);
}

TEST_CASE("a measurement that is no number is broken where no numerics are judged", "[verdict]") {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double value : {infinite, std::nan("")}) {
    const CellEvidence broken = probed("cell", "bytes", {100, value, 100});
    const CheckResult check = alone("device.capacity", broken, kFromBelow, 1);
    CHECK(check.status == CheckStatus::inconclusive);
    CHECK(check.reason == "not_finite");
    CHECK(check.sentence == "device.capacity is not a finite number");
    CHECK(check.repeat == 1);
    CHECK_FALSE(check.noise_rel);
    CHECK(against("device.capacity", broken, probed("reference", "bytes", {1, 1, 1}), 0.1).reason == "not_finite");
  }
}

TEST_CASE("the share that is left is of a limit's size, whatever its sign", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {sample::attempt(0, 1000)}};
  const auto with_loss = [&](double loss) {
    for (StepRecord& step : cell.repeats[0].lead().trace->steps) step.loss = exact_float(loss);
    return cell;
  };
  CHECK(*alone("numerics.final_loss", with_loss(-3), kUpper, -2).margin_rel == Approx(0.5));
  CHECK(*alone("numerics.final_loss", with_loss(-1), kUpper, -2).margin_rel == Approx(-0.5));
  CHECK(*alone("numerics.final_loss", with_loss(-1), kFromBelow, -2).margin_rel == Approx(0.5));
  const auto margin = [&](double loss, double low, double high) {
    CellThreshold threshold = sample::threshold("numerics.final_loss", Bound::Kind::band, high, false);
    threshold.bound.low = low;
    return evaluate(threshold, with_loss(loss), {}).margin_rel;
  };
  CHECK(*margin(-1.75, -2, -1) == Approx(0.125));
  CHECK(*margin(-1.25, -2, -1) == Approx(0.25));
  CHECK(*margin(0.625, 0.25, 1) == Approx(0.375));  // as far from both: of the upper
  CHECK_FALSE(margin(0.25, 0, 1));                  // of 0 there is no share
  CHECK(*margin(0.75, 0, 1) == Approx(0.25));
  CHECK_FALSE(margin(-0.25, -1, 0));
}

TEST_CASE("a band of what says itself in words keeps the words", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {sample::attempt(0, 1000)}};
  cell.repeats[0].lead().result->peak_anonymous_bytes = 5'000'000;
  CellThreshold threshold = sample::threshold("memory.peak_anonymous_share", Bound::Kind::band, 2, false);
  threshold.bound.low = 0.5;
  const CheckResult check = evaluate(threshold, cell, {&cell, {}, ""});
  CHECK(check.sentence == "1 is within 0.5 to 2; 5.0 MB, cell takes 5.0 MB");
  CHECK(check.samples == 1);
  CHECK(check.repeat == 0);
}

TEST_CASE("what is found beside a value is that of the repeat that stands for it", "[verdict]") {
  CellEvidence cell{"cell", "cpu", "", {}};
  for (const double loss : {0.5, 2.0, 1.0}) {
    cell.repeats.push_back(sample::attempt(static_cast<int>(cell.repeats.size()), 1000));
    for (StepRecord& step : cell.repeats.back().lead().trace->steps) step.loss = exact_float(loss);
  }
  CHECK(alone("numerics.end_loss", cell, kUpper, 3).sentence ==
        "2 loss <= 3 loss; mean of the last 5 of 20 steps, of the first 5: 2");
}

TEST_CASE("speed is not compared between runs of one host that were merged, and all else is", "[verdict]") {
  const auto said = [](const char* metric, const char* other_run) {
    CellEvidence cell = probed("cell", "bytes", {100});
    CellEvidence reference = probed("reference", "bytes", {100});
    cell.host = reference.host = "a";
    cell.run = "r-1";
    reference.run = other_run;
    return against(metric, cell, reference, 0.1);
  };
  for (const char* metric : {"throughput.step_time", "comm.latency_p50"}) {
    CHECK(said(metric, "r-2").sentence == "they did not run side by side: cell is of run r-1, reference of run r-2");
    CHECK(said(metric, "r-2").reason == "not_comparable");
    CHECK(said(metric, "r-1").sentence.find("side by side") == std::string::npos);
  }
  CHECK_THAT(said("memory.peak_rss", "r-2").sentence, Catch::StartsWith("100.0 MiB against 100.0 MiB"));
}

TEST_CASE("speed and memory of another machine are refused with both places, bits and losses are not", "[verdict]") {
  const auto said = [](const char* metric, bool other_device, bool other_host) {
    CellEvidence cell = probed("cell", "bytes", {100});
    CellEvidence reference = probed("reference", "bytes", {100});
    cell.host = "a";
    reference.host = other_host ? "b" : "a";
    reference.device = other_device ? "sm_90" : "cpu";
    return against(metric, cell, reference, 0.1).sentence;
  };
  CHECK(said("memory.peak_rss", true, false) == "the memory of sm_90 says nothing about that of cpu");
  CHECK(said("memory.peak_rss", true, true) ==
        "the memory of sm_90 of host b says nothing about that of cpu of host a");
  CHECK_THAT(said("memory.peak_rss", false, true), Catch::StartsWith("100.0 MiB against 100.0 MiB"));
  for (const char* metric : {"throughput.step_time", "comm.latency_p50"}) {
    CHECK(said(metric, true, false) == "the speed of sm_90 says nothing about that of cpu");
    CHECK(said(metric, false, true) == "the speed of cpu of host b says nothing about that of cpu of host a");
  }
  CHECK_THAT(said("numerics.final_loss", true, true), Catch::StartsWith("0.1 loss against 0.1 loss"));
}

TEST_CASE("a reference BLAS on either side judges no speed, and leaves memory and numbers alone", "[verdict]") {
  const CellEvidence fast = probed("fast", "bytes", {100});
  CellEvidence slow = fast;
  slow.repeats[0].lead().result->fingerprint.blas_provider = "netlib";
  const char* sentence = "the BLAS in use is netlib's reference code; its speed judges no stack";
  CHECK(against("throughput.step_time", slow, fast, 0.1).sentence == sentence);
  CHECK(against("throughput.step_time", fast, slow, 0.1).sentence == sentence);
  CHECK(alone("throughput.step_time", slow, kUpper, 1e9).reason == "reference_blas");
  CHECK(alone("throughput.step_time", fast, kUpper, 1e9).status == CheckStatus::passed);
  CHECK(against("memory.peak_rss", fast, slow, 0.1).status == CheckStatus::passed);
}

TEST_CASE("a check without what it needs says so", "[verdict]") {
  const CellEvidence cell = probed("cell", "bytes", {100});
  CHECK(alone("no.such", cell, kUpper, 1).sentence == "this build knows no such metric");
  CellThreshold unknown = sample::threshold("no.such", kUpper, 1, true);
  CHECK(opposite_of(unknown) == Against::reference);
  unknown.bound.vs_reference = false;
  CHECK(opposite_of(unknown) == Against::nothing);
  const CheckResult without = evaluate(sample::threshold("numerics.loss_rel", kUpper, 1, false), cell,
                                       {nullptr, "no_reference", "there is none"});
  CHECK(without.reason == "no_reference");
  CHECK(without.sentence == "there is none");
}

TEST_CASE("a place before the first step is told without a step", "[verdict]") {
  CellEvidence cell = probed("cell", "bytes", {100});
  CellEvidence anchor = probed("anchor", "bytes", {100});
  cell.repeats[0].lead().result->workload_digest = "another";
  const CheckResult check =
      evaluate(sample::threshold("numerics.by_construction_mismatches", kUpper, 0, false), cell, {&anchor, {}, ""});
  CHECK(check.sentence ==
        "1 times other than anchor: workload digest, learning rate and samples of 20 steps, 1 inputs and first "
        "parameters; first in workload digest");
}

}  // namespace
}  // namespace reprobench
