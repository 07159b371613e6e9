#include "matrix/evidence/timed_steps.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace reprobench {
namespace {

constexpr std::array<Reason, 3> kWorstFirst = {kThrottled, kContended, kOffClock};
constexpr std::int64_t kLongestApart_us = 1'000'000'000'000;  // eleven days; clocks further apart are not one clock

bool touches(const std::vector<Period>& periods, const Period& span) {
  const auto first =
      std::lower_bound(periods.begin(), periods.end(), span.from_ns,
                       [](const Period& period, std::int64_t from_ns) { return period.to_ns < from_ns; });
  return first != periods.end() && first->from_ns <= span.to_ns;
}

Reason reason_against(const InvalidPeriods& invalid, const Period& span) {
  for (const Reason reason : kWorstFirst) {
    const auto periods = invalid.find(reason.code());
    if (periods != invalid.end() && touches(periods->second, span)) return reason;
  }
  return {};
}

// From the telemetry's start to the trace's; nothing if they cannot be of one clock.
std::optional<std::int64_t> trace_began_ns(const Trace& trace, const TelemetryRecord& telemetry) {
  if (!trace.header.monotonic_us || !telemetry.header.monotonic_us || telemetry.samples.empty()) return std::nullopt;
  const std::int64_t apart_us = *trace.header.monotonic_us - *telemetry.header.monotonic_us;
  if (std::abs(apart_us) > kLongestApart_us) return std::nullopt;
  return apart_us * 1'000;
}

// The last moment that the telemetry speaks of.
std::int64_t last_known_ns(const TelemetryRecord& telemetry) {
  return telemetry.samples.back().at_ns + kLongestGapPeriods * telemetry.header.period_ns;
}

// The i-th step, as the rank recorded it that was slowest in it.
const StepRecord& slowest_at(const AttemptRecord& attempt, std::size_t i) {
  const StepRecord* slowest = &attempt.lead().trace->steps[i];
  for (const RankRecord& rank : attempt.ranks) {
    const StepRecord& step = rank.trace->steps.at(i);
    if (step.step_time_ns > slowest->step_time_ns) slowest = &step;
  }
  return *slowest;
}

}  // namespace

std::size_t warm_up_steps(std::size_t steps) { return std::min(std::max<std::size_t>(steps / 10, 10), steps / 2); }

std::optional<std::vector<Period>> spans_of_steps(const Trace& trace, const TelemetryRecord& telemetry) {
  const auto began_ns = trace_began_ns(trace, telemetry);
  if (!began_ns || trace.steps.empty()) return std::nullopt;
  const std::int64_t last_ns = last_known_ns(telemetry);
  std::vector<Period> spans;
  for (const StepRecord& step : trace.steps) {
    if (!step.ended_ns) return std::nullopt;
    const std::int64_t to_ns = *step.ended_ns + *began_ns;
    if (to_ns < 0 || to_ns > last_ns || to_ns < step.step_time_ns) return std::nullopt;
    spans.push_back({to_ns - step.step_time_ns, to_ns});
  }
  return spans;
}

std::optional<std::vector<Period>> spans_of_measurements(const Trace& trace, const TelemetryRecord& telemetry) {
  const auto began_ns = trace_began_ns(trace, telemetry);
  if (!began_ns) return std::nullopt;
  const std::int64_t last_ns = last_known_ns(telemetry);
  std::vector<Period> spans;
  for (const ProbeMeasurement& measurement : trace.measurements) {
    const bool is_rate = measurement.unit == "GB/s" || measurement.unit == "TFLOP/s" || measurement.unit == "ns";
    if (measurement.samples.empty() || !is_rate) continue;
    if (!measurement.timed_from_ns || !measurement.timed_to_ns || *measurement.timed_to_ns > last_ns)
      return std::nullopt;
    const Period span{*measurement.timed_from_ns + *began_ns, *measurement.timed_to_ns + *began_ns};
    if (span.from_ns < 0 || span.to_ns > last_ns) return std::nullopt;
    spans.push_back(span);
  }
  return spans.empty() ? std::nullopt : std::optional(spans);
}

std::vector<LeftOutSteps> steps_in(const InvalidPeriods& invalid, const Trace& trace,
                                   const std::vector<Period>& spans) {
  std::vector<LeftOutSteps> left_out;
  for (std::size_t i = warm_up_steps(spans.size()); i < spans.size(); ++i) {
    const Reason reason = reason_against(invalid, spans[i]);
    if (reason.empty()) continue;
    const std::int64_t step = trace.steps[i].step;
    if (!left_out.empty() && left_out.back().reason == reason.code() && left_out.back().last + 1 == step) {
      left_out.back().last = step;
    } else {
      left_out.push_back({step, step, reason});
    }
  }
  return left_out;
}

Reason reason_within(const InvalidPeriods& invalid, const std::vector<Period>& spans) {
  for (const Period& span : spans) {
    if (const Reason reason = reason_against(invalid, span); !reason.empty()) return reason;
  }
  return {};
}

void for_each_timed_step(const AttemptRecord& attempt, const std::function<void(const StepRecord&)>& visit) {
  static const std::vector<LeftOutSteps> kNone;
  const auto& left_out = attempt.telemetry ? attempt.telemetry->left_out : kNone;
  const auto& steps = attempt.lead().trace->steps;
  auto next = left_out.begin();
  for (std::size_t i = warm_up_steps(steps.size()); i < steps.size(); ++i) {
    while (next != left_out.end() && next->last < steps[i].step) ++next;
    if (next != left_out.end() && next->first <= steps[i].step) continue;
    visit(slowest_at(attempt, i));
  }
}

std::vector<double> timed_steps_ns(const AttemptRecord& attempt) {
  std::vector<double> times_ns;
  for_each_timed_step(attempt,
                      [&](const StepRecord& step) { times_ns.push_back(static_cast<double>(step.step_time_ns)); });
  return times_ns;
}

std::vector<double> all_steps_ns(const AttemptRecord& attempt) {
  std::vector<double> times_ns;
  for (std::size_t i = 0; i < attempt.lead().trace->steps.size(); ++i) {
    times_ns.push_back(static_cast<double>(slowest_at(attempt, i).step_time_ns));
  }
  return times_ns;
}

}  // namespace reprobench
