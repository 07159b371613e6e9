#include "matrix/evidence/step_energy.hpp"

#include "ci/catch.hpp"
#include "matrix/evidence/sample_readings.hpp"
#include "matrix/evidence/telemetry_summary.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kDrawnStep_ns = 10'000'000;
constexpr std::int64_t kDrawnBoot_us = 86'400'000'000;
constexpr std::int64_t kDrawnFirstStep_ns = 3 * kPeriod_ns;
constexpr std::int64_t kDrawn_mj = 35'000;  // in a period: 350 W

// 26 readings around 200 steps of 10 ms, of which 180 count, from 0.5 s to 2.3 s: 3.5 J a step.
struct PoweredAttempt {
  PoweredAttempt() {
    record.header = {"aaa", "0011", kPeriod_ns, {{"GPU-a", "00000000:3B:00.0", "NVIDIA H100"}}, kDrawnBoot_us};
    add_gpu(0, kDrawn_mj);
    record.end = TelemetryEnd{26, 0, {}, ""};
    trace.header.monotonic_us = kDrawnBoot_us + kDrawnFirstStep_ns / 1'000;
    add_steps(200, kDrawnStep_ns);
  }

  void add_gpu(int gpu, std::int64_t drawn_mj) {
    for (int i = 0; i < 26; ++i) {
      TelemetrySample sample = healthy_reading(i);
      sample.gpu = gpu;
      set(sample, Quantity::energy_mj, 1'000'000 + i * drawn_mj);
      record.samples.push_back(sample);
    }
  }

  void add_steps(int count, std::int64_t every_ns) {
    trace.steps.clear();
    for (int number = 1; number <= count; ++number) {
      StepRecord step;
      step.step = number;
      step.step_time_ns = every_ns;
      step.ended_ns = number * every_ns;
      trace.steps.push_back(step);
    }
  }

  TelemetrySummary summary() const { return summarise_telemetry(record, &trace); }
  std::string missing() const {
    const TelemetrySummary found = summary();
    CHECK_FALSE(found.step_energy_j);
    return found.step_energy_missing;
  }

  TelemetryRecord record;
  Trace trace;
};

TEST_CASE("a step's energy is what the counter grew by over the steps between two readings", "[evidence][gpu]") {
  PoweredAttempt attempt;
  const TelemetrySummary summary = attempt.summary();
  REQUIRE(summary.step_energy_j);
  CHECK(*summary.step_energy_j == Approx(3.5));
  CHECK(summary.step_energy_missing.empty());
  CHECK(summary[Quantity::energy_mj]->most == 20 * kDrawn_mj);  // as a counter: its growth
}

TEST_CASE("a step that a reading cuts counts by its share", "[evidence][gpu]") {
  PoweredAttempt attempt;
  for (TelemetrySample& sample : attempt.record.samples) sample.at_ns += 7'000'000;
  CHECK(*attempt.summary().step_energy_j == Approx(3.5));
  attempt.add_steps(40, 50'000'000);  // longer than half a period, and 20 of them count, from 1.3 s
  CHECK(*attempt.summary().step_energy_j == Approx(17.5));
}

TEST_CASE("what is drawn between two steps is theirs, and what the warm-up drew is nobody's", "[evidence][gpu]") {
  PoweredAttempt attempt;
  for (StepRecord& step : attempt.trace.steps) step.step_time_ns = kDrawnStep_ns / 2;
  CHECK(*attempt.summary().step_energy_j == Approx(3.5));
  PoweredAttempt warmed;
  for (std::size_t i = 0; i < 5; ++i) set(warmed.record.samples[i], Quantity::energy_mj, 10);
  CHECK(*warmed.summary().step_energy_j == Approx(3.5));
}

TEST_CASE("of several GPUs the energies add up, and one without a value leaves none", "[evidence][gpu]") {
  PoweredAttempt attempt;
  attempt.record.header.gpus.push_back({"GPU-b", "00000000:5E:00.0", "NVIDIA H100"});
  attempt.add_gpu(1, 2 * kDrawn_mj);
  CHECK(*attempt.summary().step_energy_j == Approx(3.5 + 7));
  attempt.record.samples[26 + 12].values[static_cast<std::size_t>(Quantity::energy_mj)].reset();
  CHECK(attempt.missing() == "GPU-b does not say how much energy it drew");
}

TEST_CASE("a counter that lacks a reading, goes back or stands still gives no energy", "[evidence][gpu]") {
  PoweredAttempt attempt;
  auto& samples = attempt.record.samples;
  SECTION("one reading without it") {
    samples[12].values[static_cast<std::size_t>(Quantity::energy_mj)].reset();
    CHECK(attempt.missing() == "GPU-a does not say how much energy it drew");
  }
  SECTION("one before the steps that count without it") {
    samples[4].values[static_cast<std::size_t>(Quantity::energy_mj)].reset();
    CHECK(attempt.summary().step_energy_j);
  }
  SECTION("back, and beyond where it was") {
    set(samples[12], Quantity::energy_mj, 1'000'000);
    CHECK(attempt.missing() == "the energy counter of GPU-a went backwards");
  }
  SECTION("still") {
    for (TelemetrySample& sample : samples) set(sample, Quantity::energy_mj, 1'000'000);
    CHECK(attempt.missing() == "the energy counter of GPU-a stood still");
  }
}

TEST_CASE("steps that were left out, or times that do not count, leave no energy", "[evidence][gpu]") {
  PoweredAttempt attempt;
  auto& samples = attempt.record.samples;
  SECTION("throttled in one reading") {
    set(samples[12], Quantity::clock_events, 8);
    CHECK(attempt.missing() == "22 of 180 steps left out: 22 throttled (hw_slowdown)");
  }
  SECTION("another process in one reading") {
    samples[12].foreign_pids = {1};
    CHECK(attempt.missing() == "22 of 180 steps left out: 22 contended (pid 1)");
  }
  SECTION("throttled from beginning to end") {
    for (TelemetrySample& sample : samples) set(sample, Quantity::clock_events, 8);
    CHECK(attempt.missing().starts_with("its times do not count: too few steps remain"));
  }
}

TEST_CASE("without whole telemetry, without times of steps and of too short a training there is no energy",
          "[evidence][gpu]") {
  PoweredAttempt attempt;
  SECTION("cut off") {
    attempt.record.end.reset();
    CHECK(attempt.missing() == "what its GPU did is not known: it ends before the attempt does: the coordinator died");
  }
  SECTION("no common clock") {
    attempt.trace.header.monotonic_us.reset();
    CHECK(attempt.missing() == "it is not known when its steps ran");
  }
  SECTION("no trace") {
    CHECK(summarise_telemetry(attempt.record).step_energy_missing == "it is not known when its steps ran");
  }
  SECTION("ten readings") {
    attempt.add_steps(101, kDrawnStep_ns);  // 0.91 s of steps count, from 0.4 s
    CHECK(attempt.missing() == "it trained too briefly: 10 readings of GPU-a, 11 would say something");
  }
  SECTION("eleven readings") {
    attempt.add_steps(121, kDrawnStep_ns);  // from 0.42 s to 1.51 s
    CHECK(*attempt.summary().step_energy_j == Approx(3.5));
  }
}

}  // namespace
}  // namespace reprobench
