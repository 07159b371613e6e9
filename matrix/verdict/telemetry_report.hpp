// An attempt's telemetry as verdict.json has it. A report shows nothing else of it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/evidence/telemetry_summary.hpp"

namespace reprobench {

struct TelemetryReport {
  std::vector<TelemetryGpu> gpus;
  std::int64_t samples = 0;
  std::int64_t training_samples = 0;
  std::int64_t invalidated_samples = 0;
  std::map<std::string, TelemetryRange> ranges;  // by quantity
  std::map<std::string, std::int64_t> clock_events;
  double power_cap_share = 0;
  std::vector<std::int64_t> foreign_pids;
  std::vector<GpuFault> faults;
  std::string invalid_reason;
  std::string invalid_sentence;
  std::int64_t timed_steps = 0;
  std::map<std::string, std::int64_t> steps_left_out;  // by reason
  std::string left_out_sentence;
  std::string problem;
  std::vector<TelemetryPoint> series;
};

TelemetryReport report_of(const TelemetrySummary& telemetry);

template <>
struct Description<TelemetryRange> {
  static constexpr About about = About::part("range");
  static void fields(auto& field, TelemetryRange& range) {
    field("least", range.least, rule::at_least(0));
    field("median", range.median, rule::at_least(0));
    field("most", range.most, rule::at_least(0));
  }
};

template <>
struct Description<GpuFault> {
  static constexpr About about = About::part("gpu_fault");
  static void fields(auto& field, GpuFault& fault) {
    field("fault", fault.fault);
    field("uuid", fault.uuid);
    field("device", fault.is_device, "The device's fault and not the program's.");
    field("sentence", fault.sentence);
  }
};

template <>
struct Description<TelemetryPoint> {
  static constexpr About about = About::part("telemetry_point");
  static void fields(auto& field, TelemetryPoint& point) {
    field("at_ns", point.at_ns, rule::at_least(0));
    field("sm_clock_mhz", point.sm_clock_mhz, rule::at_least(0));
    field("temperature_c", point.temperature_c, rule::at_least(0));
    field("power_mw", point.power_mw, rule::at_least(0));
    field("utilisation_percent", point.utilisation_percent, rule::at_least(0));
    field("invalidated", point.invalidated);
  }
};

inline constexpr std::string_view kInvalidReasons[] = {"", "throttled", "contended", "clock"};

template <>
struct Description<TelemetryReport> {
  static constexpr About about = About::part("telemetry", "What the GPUs of an attempt did meanwhile.");
  static void fields(auto& field, TelemetryReport& telemetry) {
    field("gpus", telemetry.gpus);
    field("samples", telemetry.samples, rule::at_least(0));
    field("training_samples", telemetry.training_samples, rule::at_least(0).says("Those that count."));
    field("invalidated_samples", telemetry.invalidated_samples,
          rule::at_least(0).says("Of these, throttled or contended."));
    field("ranges", telemetry.ranges, "By quantity, of the samples that count; counters as their growth.");
    field("clock_events", telemetry.clock_events,
          rule::at_least(1).says("Word, in how many of the samples that count."));
    field("power_cap_share", telemetry.power_cap_share, rule::at_least(0));
    field("foreign_pids", telemetry.foreign_pids, rule::at_least(0));
    field("faults", telemetry.faults);
    field("invalid_reason", telemetry.invalid_reason, rule::one_of(kInvalidReasons));
    field("invalid_sentence", telemetry.invalid_sentence);
    field("timed_steps", telemetry.timed_steps, rule::at_least(0));
    field("steps_left_out", telemetry.steps_left_out, rule::at_least(1).says("By reason."));
    field("left_out_sentence", telemetry.left_out_sentence);
    field("problem", telemetry.problem, "Empty: complete.");
    field("series", telemetry.series, "A few of the readings, of the attempt's first GPU.");
  }
};

}  // namespace reprobench
