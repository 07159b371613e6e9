#include "matrix/evidence/timed_steps.hpp"

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/evidence/invalid_readings.hpp"
#include "matrix/evidence/sample_readings.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kStep_ns = 10'000'000;
constexpr std::int64_t kBoot_us = 86'400'000'000;
constexpr std::int64_t kFirstStep_ns = 3 * kPeriod_ns;  // on the telemetry's clock
constexpr int kSteps = 200;                             // of which 20 warm up, so 180 count: from 0.5 s to 2.3 s

// 26 readings of a healthy GPU, ten a second, around 200 steps of 10 ms.
struct Attempt {
  Attempt() {
    telemetry.header = {"aaa", "0011", kPeriod_ns, {{"GPU-a", "00000000:3B:00.0", "NVIDIA H100"}}, kBoot_us};
    for (int i = 0; i < 26; ++i) {
      TelemetrySample sample = healthy_reading(i);
      sample.trace_bytes = 10 * i;
      telemetry.samples.push_back(sample);
    }
    telemetry.end = TelemetryEnd{26, 0, {}, ""};
    record.lead().trace = Trace{};
    record.lead().trace->header.monotonic_us = kBoot_us + kFirstStep_ns / 1'000;
    for (int number = 1; number <= kSteps; ++number) {
      StepRecord step;
      step.step = number;
      step.step_time_ns = kStep_ns;
      step.ended_ns = number * kStep_ns;
      record.lead().trace->steps.push_back(step);
    }
  }

  // Readings `first` to `last` say that the GPU was throttled.
  void throttle(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) set(telemetry.samples[i], Quantity::clock_events, 8);
  }

  const TelemetrySummary& summary() {
    record.telemetry = summarise_telemetry(telemetry, &*record.lead().trace);
    return *record.telemetry;
  }

  TelemetryRecord telemetry;
  AttemptRecord record;
};

std::int64_t left_out(const TelemetrySummary& summary, const std::string& reason) {
  const auto counts = count_of_left_out(summary);
  return counts.count(reason) == 0 ? 0 : counts.at(reason);
}

TEST_CASE("on a healthy GPU every step after the warm-up counts", "[evidence][gpu]") {
  Attempt attempt;
  const TelemetrySummary& summary = attempt.summary();
  CHECK(summary.timed_steps == 180);
  CHECK(summary.left_out.empty());
  CHECK(summary.left_out_sentence.empty());
  CHECK(summary.invalid_reason.empty());
  CHECK(timed_steps_ns(attempt.record).size() == 180);
}

TEST_CASE("readings count from the first step that counts to the last, a period either side", "[evidence][gpu]") {
  Attempt attempt;
  CHECK(attempt.summary().training_samples == 21);  // 0.4 s to 2.4 s
  set(attempt.telemetry.samples[0], Quantity::sm_clock_mhz, 345);
  CHECK(attempt.summary()[Quantity::sm_clock_mhz]->least == 1'980);
}

TEST_CASE("one throttled reading costs the steps within a period of it and not the attempt", "[evidence][gpu]") {
  Attempt attempt;
  attempt.throttle(12, 12);
  const TelemetrySummary& summary = attempt.summary();
  CHECK(summary.invalid_reason.empty());
  REQUIRE(summary.left_out.size() == 1);
  // From 1.1 s to 1.3 s; a step that only touches an end is out too.
  CHECK(summary.left_out[0].first == 80);
  CHECK(summary.left_out[0].last == 101);
  CHECK(summary.left_out[0].reason == "throttled");
  CHECK(summary.left_out_sentence == "22 of 180 steps left out: 22 throttled (hw_slowdown)");
  CHECK(timed_steps_ns(attempt.record).size() == 158);
}

TEST_CASE("the steps left out are the slow ones, so the median does not see them", "[evidence][gpu]") {
  Attempt attempt;
  attempt.throttle(10, 15);
  for (StepRecord& step : attempt.record.lead().trace->steps) {
    const bool is_slow = step.step > 70 && step.step < 121;
    if (is_slow) step.step_time_ns = kStep_ns - 1;
  }
  attempt.summary();
  for (const double time_ns : timed_steps_ns(attempt.record)) CHECK(time_ns == static_cast<double>(kStep_ns));
}

TEST_CASE("throttling before the steps that count costs none of them", "[evidence][gpu]") {
  Attempt attempt;
  attempt.throttle(0, 3);  // until 0.4 s; the warm-up lasts until 0.5 s
  CHECK(attempt.summary().left_out.empty());
  CHECK(attempt.summary().invalid_reason.empty());
}

TEST_CASE("a reading after a silence speaks for all of the silence", "[evidence][gpu]") {
  Attempt attempt;
  attempt.throttle(12, 12);
  auto& samples = attempt.telemetry.samples;
  samples.erase(samples.begin() + 9, samples.begin() + 12);  // now the one before is of 0.8 s
  CHECK(attempt.summary().left_out.at(0).first == 50);
}

TEST_CASE("the attempt is invalid where fewer than half of its steps remain", "[evidence][gpu]") {
  Attempt attempt;
  attempt.throttle(9, 15);  // 0.8 s to 1.6 s
  CHECK(attempt.summary().invalid_reason.empty());
  attempt.throttle(8, 17);  // 0.7 s to 1.8 s
  CHECK(attempt.summary().invalid_reason == "throttled");
  CHECK(attempt.summary().invalid_sentence ==
        "too few steps remain: 112 of 180 steps left out: 112 throttled (hw_slowdown)");
}

TEST_CASE("the attempt is invalid where fewer than six steps remain", "[evidence][gpu]") {
  Attempt attempt;
  attempt.record.lead().trace->steps.resize(20);  // ten count: 0.4 s to 0.5 s
  attempt.telemetry.samples[6].at_ns += kPeriod_ns / 2;
  attempt.throttle(6, 6);  // and this reading speaks for the time from 0.5 s on
  CHECK(attempt.summary().left_out_sentence == "1 of 10 steps left out: 1 throttled (hw_slowdown)");
  CHECK(attempt.summary().invalid_reason.empty());
  attempt.record.lead().trace->steps.resize(12);
  for (StepRecord& step : attempt.record.lead().trace->steps)
    *step.ended_ns += 8 * kStep_ns;  // six count, the last is out
  CHECK(attempt.summary().invalid_reason == "throttled");
}

TEST_CASE("time lost to temperature and strangers cost steps, each under its name", "[evidence][gpu]") {
  Attempt attempt;
  auto& samples = attempt.telemetry.samples;
  for (std::size_t i = 10; i < samples.size(); ++i) set(samples[i], Quantity::thermal_violation_ns, 5'000'007);
  samples[20].foreign_pids = {77};
  const TelemetrySummary& summary = attempt.summary();
  CHECK(left_out(summary, "throttled") == 22);
  CHECK(left_out(summary, "contended") == 22);
  CHECK(summary.left_out_sentence ==
        "44 of 180 steps left out: 22 contended (pid 77), 22 throttled (time lost to temperature)");
  CHECK(summary.invalid_reason.empty());
}

TEST_CASE("a clock that stays low for a while costs those steps, one that wanders none", "[evidence][gpu]") {
  Attempt attempt;
  auto& samples = attempt.telemetry.samples;
  for (std::size_t i = 10; i < 13; ++i) set(samples[i], Quantity::sm_clock_mhz, 1'700);
  CHECK(attempt.summary().left_out.empty());
  set(samples[13], Quantity::sm_clock_mhz, 1'700);
  CHECK(left_out(attempt.summary(), "clock") == 52);  // 0.9 s to 1.4 s
  CHECK(attempt.summary().invalid_reason.empty());
}

// Readings are 0.1 s apart; periods in units of that.
TEST_CASE("periods reach from the reading before to the one after, and those that meet are one", "[evidence][gpu]") {
  std::vector<TelemetrySample> samples;
  for (int i = 0; i < 12; ++i) samples.push_back(healthy_reading(i));
  const auto periods = [&](const Reason& reason) {
    Readings readings;
    for (const TelemetrySample& sample : samples) readings.push_back(&sample);
    std::string found;
    InvalidPeriods all = invalid_periods(readings, readings, kPeriod_ns);
    for (const Period& period : all[reason.code()]) {
      found += fmt::format("{}-{} ", period.from_ns / kPeriod_ns, period.to_ns / kPeriod_ns);
    }
    return found;
  };
  CHECK(periods(kThrottled).empty());
  set(samples[2], Quantity::clock_events, 8);
  CHECK(periods(kThrottled) == "1-3 ");
  set(samples[4], Quantity::clock_events, 8);  // their periods touch
  CHECK(periods(kThrottled) == "1-5 ");
  set(samples[7], Quantity::clock_events, 8);
  set(samples[8], Quantity::clock_events, 8);
  CHECK(periods(kThrottled) == "1-5 6-9 ");
  set(samples[0], Quantity::clock_events, 8);
  set(samples[11], Quantity::clock_events, 8);
  CHECK(periods(kThrottled) == "-1-5 6-9 10-12 ");
  samples[5].foreign_pids = {7};
  CHECK(periods(kContended) == "4-6 ");
}

TEST_CASE("a long period holds a short one that begins later", "[evidence][gpu]") {
  std::vector<TelemetrySample> samples{healthy_reading(0), healthy_reading(1), healthy_reading(9), healthy_reading(10)};
  set(samples[1], Quantity::clock_events, 8);  // speaks from 0 to 9
  set(samples[2], Quantity::clock_events, 8);  // from 1 to 10
  Readings readings;
  for (const TelemetrySample& sample : samples) readings.push_back(&sample);
  const auto periods = invalid_periods(readings, readings, kPeriod_ns)[kThrottled.code()];
  REQUIRE(periods.size() == 1);
  CHECK(periods[0].from_ns == samples[0].at_ns);
  CHECK(periods[0].to_ns == samples[3].at_ns);
}

TEST_CASE("time lost to temperature counts from one answer to the next, whatever was not answered between",
          "[evidence][gpu]") {
  std::vector<TelemetrySample> samples;
  for (int i = 0; i < 6; ++i) samples.push_back(healthy_reading(i));
  set(samples[0], Quantity::thermal_violation_ns, 7);
  for (const std::size_t i : {1, 2, 4})
    samples[i].values[static_cast<std::size_t>(Quantity::thermal_violation_ns)].reset();
  set(samples[3], Quantity::thermal_violation_ns, 9);
  set(samples[5], Quantity::thermal_violation_ns, 9);
  Readings readings;
  for (const TelemetrySample& sample : samples) readings.push_back(&sample);
  const auto periods = invalid_periods(readings, readings, kPeriod_ns)[kThrottled.code()];
  REQUIRE(periods.size() == 1);
  CHECK(periods[0].from_ns == samples[2].at_ns);
  CHECK(periods[0].to_ns == samples[4].at_ns);
}

// 5 % of 2,000 MHz are 100; both directions, and one excursion never runs into the other.
TEST_CASE("a clock is off by more than its share for four readings in one direction", "[evidence][gpu]") {
  const auto off = [](const std::vector<int>& clocks_mhz) {
    std::vector<TelemetrySample> samples;
    for (std::size_t i = 0; i < clocks_mhz.size(); ++i) {
      samples.push_back(healthy_reading(static_cast<int>(i)));
      set(samples.back(), Quantity::sm_clock_mhz, clocks_mhz[i]);
    }
    Readings readings;
    for (const TelemetrySample& sample : samples) readings.push_back(&sample);
    return invalid_periods(readings, readings, kPeriod_ns)[kOffClock.code()].size();
  };
  const int on = 2'000;
  CHECK(off({on, on, on, on, on, 1'900, 1'900, 1'900, 1'900}) == 0);
  CHECK(off({on, on, on, on, on, 1'899, 1'899, 1'899, 1'899}) == 1);
  CHECK(off({on, on, on, on, on, 1'899, 1'899, 1'899}) == 0);
  CHECK(off({on, on, on, on, on, 2'100, 2'100, 2'100, 2'100}) == 0);
  CHECK(off({on, on, on, on, on, 2'101, 2'101, 2'101, 2'101}) == 1);
  CHECK(off({on, on, on, on, on, 1'800, 1'800, 2'200, 2'200}) == 0);
  CHECK(off({on, on, on, 1'800, 1'800, 1'800}) == 0);  // fewer than eight readings know no usual clock
  CHECK(off({1'800, 1'800, 1'800, 1'800, on, on, on, on, on, 2'200, 2'200, 2'200, 2'200}) == 2);
}

TEST_CASE("a clock that moves between the halves in small steps is still `clock`", "[evidence][gpu]") {
  Attempt attempt;
  auto& samples = attempt.telemetry.samples;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    set(samples[i], Quantity::sm_clock_mhz, i < 11 ? 1'980 : i < 17 ? 1'925 : 1'875);
  }
  CHECK(attempt.summary().left_out.empty());
  CHECK(attempt.summary().invalid_reason == "clock");
}

// Two measurements of a second each: 0.3 s to 1.3 s, 1.3 s to 2.3 s.
void turn_into_probe(Attempt& attempt) {
  attempt.record.lead().trace->steps.clear();
  for (const std::int64_t from_ns : {std::int64_t{0}, std::int64_t{1'000'000'000}}) {
    ProbeMeasurement measurement;
    measurement.operation = from_ns == 0 ? "triad" : "gemm";
    measurement.unit = "GB/s";
    measurement.status = MeasurementStatus::measured;
    measurement.samples = {1};
    measurement.timed_from_ns = from_ns;
    measurement.timed_to_ns = from_ns + 1'000'000'000;
    attempt.record.lead().trace->measurements.push_back(measurement);
  }
}

TEST_CASE("a probe's clock is judged within each measurement, not between them", "[evidence][gpu]") {
  Attempt attempt;
  turn_into_probe(attempt);
  auto& samples = attempt.telemetry.samples;
  // Memory at one clock, arithmetic at another: 13 readings each.
  for (std::size_t i = 0; i < samples.size(); ++i) {
    set(samples[i], Quantity::sm_clock_mhz, samples[i].at_ns <= 1'300'000'000 ? 1'980 : 1'700);
  }
  CHECK(attempt.summary().invalid_reason.empty());
  SECTION("it moves within one") {
    for (std::size_t i = 18; i < samples.size(); ++i) set(samples[i], Quantity::sm_clock_mhz, 1'500);
    CHECK(attempt.summary().invalid_reason == "clock");
    CHECK(attempt.summary().invalid_sentence.ends_with("between the halves of a measurement"));
  }
  SECTION("a trace without time stamps is judged as a whole") {
    for (ProbeMeasurement& one : attempt.record.lead().trace->measurements) {
      one.timed_from_ns.reset();
      one.timed_to_ns.reset();
    }
    CHECK(attempt.summary().invalid_reason == "clock");
  }
}

TEST_CASE("a probe is throttled by readings of its measurements, not by those before and after", "[evidence][gpu]") {
  Attempt attempt;
  turn_into_probe(attempt);
  attempt.throttle(0, 1);
  CHECK(attempt.summary().invalid_reason.empty());
  attempt.throttle(8, 8);
  CHECK(attempt.summary().invalid_reason == "throttled");
}

TEST_CASE("products timed after the steps are judged by the readings beside them", "[evidence][gpu]") {
  Attempt attempt;
  ProbeMeasurement gemm;
  gemm.unit = "TFLOP/s";
  gemm.samples = {1};
  gemm.timed_from_ns = 2'100'000'000;  // the trace begins at 0.3 s, its steps end at 2.3 s: from 2.4 s to 2.45 s
  gemm.timed_to_ns = 2'150'000'000;
  attempt.record.lead().trace->measurements = {gemm};
  CHECK(attempt.summary().measurements_invalid.empty());
  attempt.throttle(5, 5);
  CHECK(attempt.summary().measurements_invalid.empty());
  attempt.throttle(25, 25);
  CHECK(attempt.summary().measurements_invalid == "throttled");
  CHECK(attempt.summary().invalid_reason.empty());
  attempt.record.lead().trace->measurements[0].timed_to_ns = 9'000'000'000;  // nobody watched that long
  CHECK(attempt.summary().measurements_invalid == "no_telemetry");
}

TEST_CASE("without time stamps, or with those of another clock, the whole attempt is invalid", "[evidence][gpu]") {
  Attempt attempt;
  attempt.throttle(12, 12);
  SECTION("an old trace") { attempt.record.lead().trace->header.monotonic_us.reset(); }
  SECTION("an old step") { attempt.record.lead().trace->steps[7].ended_ns.reset(); }
  SECTION("old telemetry") { attempt.telemetry.header.monotonic_us.reset(); }
  SECTION("a clock that started later") { *attempt.record.lead().trace->header.monotonic_us = 5'000'000; }
  SECTION("a clock that started earlier") { *attempt.record.lead().trace->header.monotonic_us *= 2; }
  SECTION("an absurd clock") { *attempt.record.lead().trace->header.monotonic_us = std::int64_t{1} << 53; }
  SECTION("a step longer than the attempt") { attempt.record.lead().trace->steps[7].step_time_ns = INT64_MAX; }
  const TelemetrySummary& summary = attempt.summary();
  CHECK(summary.timed_steps == 0);
  CHECK(summary.left_out.empty());
  CHECK(summary.invalid_reason == "throttled");
  CHECK(timed_steps_ns(attempt.record).size() == 180);
}

TEST_CASE("clocks a day apart are one clock, and those more than eleven days apart are two", "[evidence][gpu]") {
  constexpr std::int64_t kMost_us = 1'000'000'000'000;
  for (const auto& [apart_us, is_one_clock] :
       {std::pair{std::int64_t{86'400'000'000}, true}, {kMost_us, true}, {kMost_us + 1, false}}) {
    Attempt attempt;
    *attempt.record.lead().trace->header.monotonic_us = kBoot_us + apart_us;
    attempt.telemetry.samples.back().at_ns = (apart_us + 10'000'000) * 1'000;  // it goes on until the training ends
    const auto spans = spans_of_steps(*attempt.record.lead().trace, attempt.telemetry);
    REQUIRE(spans.has_value() == is_one_clock);
    if (spans) CHECK(spans->front().to_ns == apart_us * 1'000 + kStep_ns);
  }
}

TEST_CASE("a device fault is the attempt's, whenever its steps ran", "[evidence][gpu]") {
  Attempt attempt;
  attempt.telemetry.events = {{kPeriod_ns, 0, TelemetryEventKind::xid, 79}};
  CHECK(worst_fault(attempt.summary())->is_device);
}

}  // namespace
}  // namespace reprobench
