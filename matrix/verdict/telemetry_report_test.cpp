// Everything that the telemetry of an attempt says stands in its report.
#include "matrix/verdict/telemetry_report.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("a report has every quantity by its word, but for the bits of the clocks, and all that was counted",
          "[verdict][gpu]") {
  TelemetrySummary telemetry;
  telemetry.gpus = {{"GPU-a", "00000000:3B:00.0", "NVIDIA H100"}};
  telemetry.samples = 11;
  telemetry.training_samples = 7;
  telemetry.invalidated_samples = 3;
  for (std::size_t i = 0; i < kQuantities; ++i) {
    TelemetryRange range;
    range.median = static_cast<std::int64_t>(100 + i);
    telemetry.ranges[i] = range;
  }
  telemetry.clock_events = {{"sw_power_cap", 2}};
  telemetry.power_cap_share = 0.25;
  telemetry.foreign_pids = {4242};
  telemetry.events = {{0, 0, TelemetryEventKind::xid, 79}};
  telemetry.invalid_reason = "throttled";
  telemetry.invalid_sentence = "it was hot";
  telemetry.timed_steps = 20;
  telemetry.left_out = {{3, 4, "throttled"}, {9, 9, "contended"}};
  telemetry.left_out_sentence = "3 of 20 steps left out";
  telemetry.problem = "a hole";
  telemetry.series.resize(5);
  const TelemetryReport report = report_of(telemetry);
  CHECK(report.gpus.at(0).uuid == "GPU-a");
  CHECK(report.samples == 11);
  CHECK(report.training_samples == 7);
  CHECK(report.invalidated_samples == 3);
  CHECK(report.ranges.size() == kQuantities - 1);
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const std::string word(info_of(static_cast<Quantity>(i)).word);
    CAPTURE(word);
    const bool is_bits = static_cast<Quantity>(i) == Quantity::clock_events;
    REQUIRE(report.ranges.contains(word) != is_bits);
    if (!is_bits) CHECK(report.ranges.at(word).median == static_cast<std::int64_t>(100 + i));
  }
  CHECK(report.clock_events == telemetry.clock_events);
  CHECK(report.power_cap_share == 0.25);
  CHECK(report.foreign_pids == telemetry.foreign_pids);
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].uuid == "GPU-a");
  CHECK(report.invalid_reason == "throttled");
  CHECK(report.invalid_sentence == "it was hot");
  CHECK(report.timed_steps == 20);
  CHECK(report.steps_left_out == std::map<std::string, std::int64_t>{{"contended", 1}, {"throttled", 2}});
  CHECK(report.left_out_sentence == "3 of 20 steps left out");
  CHECK(report.problem == "a hole");
  CHECK(report.series.size() == 5);
}

TEST_CASE("what no sample told is absent from a report, and no number", "[verdict][gpu]") {
  const TelemetryReport report = report_of({});
  CHECK(report.ranges.empty());
  CHECK(report.steps_left_out.empty());
  CHECK(report.faults.empty());
}

}  // namespace
}  // namespace reprobench
