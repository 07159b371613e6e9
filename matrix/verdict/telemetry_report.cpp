#include "matrix/verdict/telemetry_report.hpp"

namespace reprobench {

TelemetryReport report_of(const TelemetrySummary& telemetry) {
  TelemetryReport report;
  report.gpus = telemetry.gpus;
  report.samples = telemetry.samples;
  report.training_samples = telemetry.training_samples;
  report.invalidated_samples = telemetry.invalidated_samples;
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const auto quantity = static_cast<Quantity>(i);
    const auto range = telemetry[quantity];
    if (quantity == Quantity::clock_events || !range) continue;  // bits have no median
    report.ranges[std::string(info_of(quantity).word)] = *range;
  }
  report.clock_events = telemetry.clock_events;
  report.power_cap_share = telemetry.power_cap_share;
  report.foreign_pids = telemetry.foreign_pids;
  report.faults = faults_of(telemetry);
  report.invalid_reason = telemetry.invalid_reason;
  report.invalid_sentence = telemetry.invalid_sentence;
  report.timed_steps = telemetry.timed_steps;
  report.steps_left_out = count_of_left_out(telemetry);
  report.left_out_sentence = telemetry.left_out_sentence;
  report.problem = telemetry.problem;
  report.series = telemetry.series;
  return report;
}

}  // namespace reprobench
