#include "matrix/verdict/metrics/step_phases.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/evidence/planned_looks.hpp"
#include "matrix/evidence/timed_steps.hpp"
#include "matrix/stats/paired_ratio.hpp"
#include "matrix/stats/robust.hpp"
#include "matrix/verdict/check.hpp"
#include "matrix/verdict/quantity_text.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t PhaseTimes::*kTimes[] = {&PhaseTimes::data_ns, &PhaseTimes::forward_ns, &PhaseTimes::backward_ns,
                                                &PhaseTimes::comm_ns, &PhaseTimes::optimizer_ns};
static_assert(std::size(kTimes) == std::size(kStepPhases));

// Of each of the first `count` repeats the median over its steps.
std::vector<double> medians_ns(const CellEvidence& cell, std::int64_t PhaseTimes::*time, std::size_t count) {
  std::vector<double> medians;
  for (const AttemptRecord& attempt : std::span(cell.repeats).first(count)) {
    std::vector<double> times_ns;
    for_each_timed_step(attempt,
                        [&](const StepRecord& step) { times_ns.push_back(static_cast<double>(step.phases.*time)); });
    if (times_ns.empty()) return {};
    medians.push_back(median(times_ns));
  }
  return medians;
}

// Only asked of phases that have a reference.
double difference_ns(const StepPhase& phase) { return phase.measured_ns - phase.reference_ns.value(); }

// A phase that takes no time at all on one side has no ratio.
bool has_moved(const StepPhase& phase) {
  return phase.ratio ? *phase.ratio_low > 1 || *phase.ratio_high < 1 : difference_ns(phase) != 0;
}

// "backward +2.103 ms (x1.210 [1.150, 1.280])"
std::string moved_text(const StepPhase& phase) {
  const double more_ns = difference_ns(phase);
  const std::string text =
      fmt::format("{} {}{}", phase.phase, more_ns < 0 ? "-" : "+", humanised(std::abs(more_ns), "ns"));
  if (!phase.ratio) return text;
  return fmt::format("{} (x{:.3f} [{:.3f}, {:.3f}])", text, *phase.ratio, *phase.ratio_low, *phase.ratio_high);
}

}  // namespace

std::vector<StepPhase> step_phases(const CellEvidence& cell, const CellEvidence* reference) {
  std::vector<StepPhase> phases;
  for (std::size_t i = 0; i < std::size(kStepPhases); ++i) {
    const std::vector<double> measured_ns = medians_ns(cell, kTimes[i], cell.repeats.size());
    if (measured_ns.empty()) return {};
    StepPhase phase{std::string(kStepPhases[i]), median(measured_ns), {}, {}, {}, {}};
    if (reference != nullptr) {
      const std::vector<double> reference_ns = medians_ns(*reference, kTimes[i], partners_of(cell, *reference));
      if (reference_ns.empty()) return {};
      phase.reference_ns = median(reference_ns);
      if (const auto interval = paired_ratio(measured_ns, reference_ns, confidence_of_each(cell.looks.size()))) {
        phase.ratio = interval->ratio;
        phase.ratio_low = interval->low;
        phase.ratio_high = interval->high;
      }
    }
    if (phase.measured_ns > 0 || phase.reference_ns.value_or(0) > 0) phases.push_back(phase);
  }
  return phases;
}

std::string moved_phases(const std::vector<StepPhase>& phases) {
  std::vector<StepPhase> moved;
  std::vector<std::string> unmoved;
  for (const StepPhase& phase : phases) {
    if (has_moved(phase)) {
      moved.push_back(phase);
    } else {
      unmoved.push_back(phase.phase);
    }
  }
  if (moved.empty()) return "no phase of it alone is beyond its noise";
  std::ranges::stable_sort(moved, std::greater(),
                           [](const StepPhase& phase) { return std::abs(difference_ns(phase)); });
  std::vector<std::string> texts;
  std::ranges::transform(moved, std::back_inserter(texts), &moved_text);
  std::string text = fmt::format("by phase: {}", fmt::join(texts, ", "));
  if (!unmoved.empty()) text += fmt::format("; {} within their noise", fmt::join(unmoved, ", "));
  return text;
}

}  // namespace reprobench
