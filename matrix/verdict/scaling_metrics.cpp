#include "matrix/verdict/scaling_metrics.hpp"

#include <fmt/format.h>

#include "matrix/evidence/timed_steps.hpp"
#include "matrix/stats/robust.hpp"
#include "matrix/verdict/check.hpp"

namespace reprobench {
namespace {

// Median of the repeats' medians; nothing if a repeat has no step that counts.
std::optional<double> step_time_ns(const CellEvidence& cell) {
  std::vector<double> medians_ns;
  for (const AttemptRecord& attempt : cell.repeats) {
    const std::vector<double> times_ns = timed_steps_ns(attempt);
    if (times_ns.empty()) return std::nullopt;
    medians_ns.push_back(median(times_ns));
  }
  return median(medians_ns);
}

}  // namespace

Measurement scaling_efficiency(const CellEvidence& cell, const CellEvidence* alone) {
  const auto together_ns = step_time_ns(cell);
  const auto alone_ns = step_time_ns(*alone);
  if (!together_ns || !alone_ns) {
    return no_value(fmt::format("{} has no step that counts", (together_ns ? *alone : cell).slug));
  }
  const std::size_t ranks = cell.repeats.front().ranks.size();
  Measurement measurement;
  measurement.value = *alone_ns / (static_cast<double>(ranks) * *together_ns);
  measurement.statement = fmt::format("{} ranks take {} for a step, one rank {}: x{:.2f} as fast, {:.1f} % of x{}",
                                      ranks, humanised(*together_ns, "ns"), humanised(*alone_ns, "ns"),
                                      *alone_ns / *together_ns, *measurement.value * 100, ranks);
  return measurement;
}

std::optional<double> communication_share(const AttemptRecord& attempt) {
  double communication_ns = 0;
  double all_ns = 0;
  for (const StepRecord* step : timed_steps(attempt)) {
    communication_ns += static_cast<double>(step->phases.comm_ns);
    all_ns += static_cast<double>(step->step_time_ns);
  }
  return communication_ns > 0 ? std::optional(communication_ns / all_ns) : std::nullopt;
}

}  // namespace reprobench
