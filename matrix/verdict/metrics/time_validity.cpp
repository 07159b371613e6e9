#include "matrix/verdict/metrics/time_validity.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/evidence/invalid_readings.hpp"
#include "matrix/stats/robust.hpp"

namespace reprobench {
namespace {

constexpr double kLargestShareDifference = 0.25;
constexpr double kLargestClockDifference_rel = 0.05;

// A process that computes while others have their turn takes cores from them, so it counts as a share of their time.
// It may do its own work there, where no step is timed, so it counts as a share of its own time, too.
constexpr double kMostComputedWhileWaiting = 0.05;
constexpr double kLeastComputed_ns = 20e6;  // below it a share says nothing: a short wait is mostly its own end

std::string seconds_text(double time_ns) { return fmt::format("{:.2f} s", time_ns * 1e-9); }

double steps_ns(const RankRecord& rank) {
  double sum_ns = 0;
  if (!rank.trace) return sum_ns;
  for (const StepRecord& step : rank.trace->steps) sum_ns += static_cast<double>(step.step_time_ns);
  return sum_ns;
}

// How much it computed while others had their turn; empty: next to nothing.
std::string computed_while_waiting(const AttemptRecord& attempt) {
  for (const RankRecord& rank : attempt.ranks) {
    if (!rank.result || !rank.result->turns_wait) continue;
    const auto wait_ns = static_cast<double>(rank.result->turns_wait->time_ns);
    const auto cpu_ns = static_cast<double>(rank.result->turns_wait->cpu_ns);
    if (cpu_ns <= kLeastComputed_ns) continue;
    const double own_ns = steps_ns(rank);
    if (cpu_ns <= kMostComputedWhileWaiting * std::min(wait_ns, own_ns)) continue;
    return fmt::format("it computed for {} in the {} in which others had their turn; its own turns took {}",
                       seconds_text(cpu_ns), seconds_text(wait_ns), seconds_text(own_ns));
  }
  return "";
}

std::optional<TimeDoubt> doubt_about(const CellEvidence& cell) {
  for (const AttemptRecord& attempt : cell.repeats) {
    const std::string who = fmt::format("repeat {} of {}", attempt.repeat, cell.slug);
    if (const std::string computed = computed_while_waiting(attempt); !computed.empty()) {
      return TimeDoubt{"busy_while_waiting", fmt::format("{}: {}", who, computed)};
    }
    if (!attempt.telemetry) {
      const bool had_gpu = attempt.lead().result && !attempt.lead().result->fingerprint.device_name.empty();
      if (!had_gpu) continue;
      return TimeDoubt{"no_telemetry", fmt::format("{}: nobody watched its GPU", who)};
    }
    const TelemetrySummary& telemetry = *attempt.telemetry;
    if (!telemetry.invalid_reason.empty()) {
      return TimeDoubt{Reason::of(telemetry.invalid_reason), fmt::format("{}: {}", who, telemetry.invalid_sentence)};
    }
    if (!telemetry.problem.empty()) {
      return TimeDoubt{"no_telemetry", fmt::format("{}: what its GPU did is not known: {}", who, telemetry.problem)};
    }
  }
  return std::nullopt;
}

// Over the repeats that were watched; nothing if none was.
template <class Value>
std::optional<double> median_over(const CellEvidence& cell, Value value) {
  std::vector<double> values;
  for (const AttemptRecord& attempt : cell.repeats) {
    const std::optional<double> one = attempt.telemetry ? value(*attempt.telemetry) : std::nullopt;
    if (one) values.push_back(*one);
  }
  return values.empty() ? std::nullopt : std::optional(median(values));
}

std::optional<double> power_cap_share(const CellEvidence& cell) {
  return median_over(cell, [](const TelemetrySummary& telemetry) { return std::optional(telemetry.power_cap_share); });
}

std::optional<double> sm_clock_mhz(const CellEvidence& cell) {
  return median_over(cell, [](const TelemetrySummary& telemetry) -> std::optional<double> {
    const auto range = telemetry[Quantity::sm_clock_mhz];
    return range ? std::optional(static_cast<double>(range->median)) : std::nullopt;
  });
}

std::optional<TimeDoubt> doubt_about_pair(const CellEvidence& cell, const CellEvidence& reference) {
  const auto share = power_cap_share(cell);
  const auto reference_share = power_cap_share(reference);
  if (!share || !reference_share) return std::nullopt;
  if (std::abs(*share - *reference_share) > kLargestShareDifference) {
    return TimeDoubt{kThrottled, fmt::format("held at the power limit in {:.0f} % of the readings, {} in {:.0f} %",
                                             *share * 100, reference.slug, *reference_share * 100)};
  }
  const bool both_capped = std::min(*share, *reference_share) > kLargestShareDifference;
  const auto clock_mhz = sm_clock_mhz(cell);
  const auto reference_clock_mhz = sm_clock_mhz(reference);
  if (both_capped || !clock_mhz || !reference_clock_mhz) return std::nullopt;
  const double larger = std::max(*clock_mhz, *reference_clock_mhz);
  if (std::abs(*clock_mhz - *reference_clock_mhz) <= kLargestClockDifference_rel * larger) return std::nullopt;
  return TimeDoubt{kOffClock, fmt::format("the SM clock was at {:.0f} MHz, {}'s at {:.0f} MHz", *clock_mhz,
                                          reference.slug, *reference_clock_mhz)};
}

}  // namespace

std::optional<TimeDoubt> doubt_about_times(const CellEvidence& cell, const CellEvidence* reference) {
  if (auto doubt = doubt_about(cell)) return doubt;
  if (reference == nullptr) return std::nullopt;
  if (auto doubt = doubt_about(*reference)) return doubt;
  return doubt_about_pair(cell, *reference);
}

std::string disturbed_steps(const CellEvidence& cell, std::string_view fate) {
  std::int64_t timed = 0;
  std::int64_t left_out = 0;
  std::map<std::string, std::int64_t> by_reason;
  for (const AttemptRecord& attempt : cell.repeats) {
    if (!attempt.telemetry) continue;
    timed += attempt.telemetry->timed_steps;
    for (const auto& [reason, steps] : count_of_left_out(*attempt.telemetry)) {
      left_out += steps;
      by_reason[reason] += steps;
    }
  }
  if (left_out == 0) return "";
  std::vector<std::string> parts;
  for (const auto& [reason, steps] : by_reason) parts.push_back(fmt::format("{} {}", steps, reason));
  return fmt::format("{} of {} steps {} ({})", left_out, timed, fate, fmt::join(parts, ", "));
}

std::optional<Reason> first_disturbance(const CellEvidence& cell) {
  for (const AttemptRecord& attempt : cell.repeats) {
    if (attempt.telemetry && !attempt.telemetry->left_out.empty()) {
      return Reason::of(attempt.telemetry->left_out.front().reason);
    }
  }
  return std::nullopt;
}

}  // namespace reprobench
