#include "matrix/evidence/step_energy.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/evidence/timed_steps.hpp"

namespace reprobench {
namespace {

StepEnergy none(std::string why) { return {std::nullopt, std::move(why)}; }

std::string why_not_at_all(const std::optional<std::vector<Period>>& spans, const TelemetrySummary& summary) {
  if (!summary.problem.empty()) return fmt::format("what its GPU did is not known: {}", summary.problem);
  if (!spans) return "it is not known when its steps ran";
  if (!summary.invalid_reason.empty()) return fmt::format("its times do not count: {}", summary.invalid_sentence);
  if (!summary.left_out.empty()) return summary.left_out_sentence;
  return "";
}

// How many steps ran in a time, one that it cuts by its share.
double steps_within(const Period& time, const std::vector<Period>& spans) {
  double steps = 0;
  for (const Period& span : spans) {
    const std::int64_t shared_ns = std::min(time.to_ns, span.to_ns) - std::max(time.from_ns, span.from_ns);
    if (shared_ns > 0) steps += static_cast<double>(shared_ns) / static_cast<double>(span.to_ns - span.from_ns);
  }
  return steps;
}

// Of the readings of one GPU while steps ran that count, in order.
StepEnergy of_gpu(const std::string& uuid, const Readings& readings, const std::vector<Period>& spans) {
  if (readings.size() < kFewestEnergyReadings) {
    return none(fmt::format("it trained too briefly: {} readings of {}, {} would say something", readings.size(), uuid,
                            kFewestEnergyReadings));
  }
  std::optional<std::int64_t> before_mj;
  for (const TelemetrySample* reading : readings) {
    const auto now_mj = (*reading)[Quantity::energy_mj];
    if (!now_mj) return none(fmt::format("{} does not say how much energy it drew", uuid));
    if (before_mj && *now_mj < *before_mj) return none(fmt::format("the energy counter of {} went backwards", uuid));
    before_mj = now_mj;
  }
  const std::int64_t drawn_mj = *before_mj - *(*readings.front())[Quantity::energy_mj];
  if (drawn_mj == 0) return none(fmt::format("the energy counter of {} stood still", uuid));
  const double steps = steps_within({readings.front()->at_ns, readings.back()->at_ns}, spans);
  if (steps <= 0) return none(fmt::format("no step ran between two readings of {}", uuid));
  return {static_cast<double>(drawn_mj) / 1e3 / steps, ""};
}

}  // namespace

StepEnergy step_energy(const TelemetryRecord& record, const std::optional<std::vector<Period>>& spans,
                       const TelemetrySummary& summary) {
  if (std::string why = why_not_at_all(spans, summary); !why.empty()) return none(std::move(why));
  const std::vector<Period> counted(spans->begin() + static_cast<std::ptrdiff_t>(warm_up_steps(spans->size())),
                                    spans->end());
  StepEnergy total{0.0, ""};
  for (std::size_t gpu = 0; gpu < record.header.gpus.size(); ++gpu) {
    Readings readings;
    for (const TelemetrySample& sample : record.samples) {
      const bool is_of_gpu = static_cast<std::size_t>(sample.gpu) == gpu;
      const bool is_within = counted.front().from_ns <= sample.at_ns && sample.at_ns <= counted.back().to_ns;
      if (is_of_gpu && is_within) readings.push_back(&sample);
    }
    const StepEnergy one = of_gpu(record.header.gpus[gpu].uuid, readings, counted);
    if (!one.energy_j) return one;
    *total.energy_j += *one.energy_j;
  }
  return total;
}

}  // namespace reprobench
