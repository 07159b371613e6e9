#include "matrix/verdict/metrics/step_metrics.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "matrix/evidence/timed_steps.hpp"
#include "matrix/stats/robust.hpp"
#include "matrix/verdict/metrics/over_ranks.hpp"

namespace reprobench {
namespace {

// NVML averages over up to a second itself, so a handful of readings is one number.
constexpr std::int64_t kFewestUtilisationReadings = 8;

constexpr std::size_t kQuarters = 4;

std::vector<double> after_warm_up_ns(const AttemptRecord& attempt) {
  std::vector<double> times_ns = all_steps_ns(attempt);
  times_ns.erase(times_ns.begin(), times_ns.begin() + static_cast<std::ptrdiff_t>(warm_up_steps(times_ns.size())));
  return times_ns;
}

double total_steps_ns(const AttemptRecord& attempt) {
  const std::vector<double> times_ns = all_steps_ns(attempt);
  return std::accumulate(times_ns.begin(), times_ns.end(), 0.0);
}

}  // namespace

std::optional<double> median_step_time_ns(const AttemptRecord& attempt) {
  const std::vector<double> times_ns = timed_steps_ns(attempt);
  if (times_ns.empty()) return std::nullopt;
  return median(times_ns);
}

// A step in fifty may take a hundred times as long without moving the median.
std::optional<double> mean_step_time_ns(const AttemptRecord& attempt) {
  const std::size_t steps = attempt.lead().trace->steps.size();
  if (steps == 0) return std::nullopt;
  return total_steps_ns(attempt) / static_cast<double>(steps);
}

// The first steps are always slow: in a short run they would be all that these are about.
std::optional<double> step_time_p99_ns(const AttemptRecord& attempt) {
  const std::vector<double> times_ns = after_warm_up_ns(attempt);
  if (times_ns.empty()) return std::nullopt;
  return percentile(times_ns, 0.99);
}

// Every 125th step may take 17 times as long without moving the 99th percentile, and the mean by 13 %.
std::optional<double> slowest_steps_time_ns(const AttemptRecord& attempt) {
  std::vector<double> times_ns = after_warm_up_ns(attempt);
  if (times_ns.empty()) return std::nullopt;
  std::ranges::sort(times_ns, std::greater{});
  const std::size_t count = std::max<std::size_t>(1, times_ns.size() / 100);
  return std::accumulate(times_ns.begin(), times_ns.begin() + static_cast<std::ptrdiff_t>(count), 0.0) /
         static_cast<double>(count);
}

// A training that is 30 % slower over its second half moves the mean by 15 %.
std::optional<double> slowest_quarter_step_time_ns(const AttemptRecord& attempt) {
  const std::vector<double> times_ns = after_warm_up_ns(attempt);
  if (times_ns.size() < kQuarters) return std::nullopt;
  double slowest_ns = 0;
  for (std::size_t i = 0; i < kQuarters; ++i) {
    const std::size_t begin = i * times_ns.size() / kQuarters;
    const std::size_t end = (i + 1) * times_ns.size() / kQuarters;
    slowest_ns = std::max(slowest_ns, median(std::span(times_ns).subspan(begin, end - begin)));
  }
  return slowest_ns;
}

std::optional<double> time_outside_steps_ns(const AttemptRecord& attempt) {
  if (!attempt.segments.empty()) return std::nullopt;  // several processes
  return largest_of_ranks(attempt, [](const RankRecord& rank) -> std::optional<double> {
    if (!rank.exit || rank.trace->steps.empty() || rank.result->start_to_first_step_ns <= 0) return std::nullopt;
    std::int64_t time_ns = rank.exit->duration_ns - rank.result->start_to_first_step_ns;
    if (rank.result->turns_wait) time_ns -= rank.result->turns_wait->time_ns;
    const StepList& steps = rank.trace->steps;
    for (std::size_t i = 1; i < steps.size(); ++i) time_ns -= steps[i].step_time_ns;
    return time_ns > 0 ? std::optional<double>(static_cast<double>(time_ns)) : std::nullopt;
  });
}

std::optional<double> samples_per_s(const AttemptRecord& attempt) {
  const double time_ns = total_steps_ns(attempt);
  if (time_ns <= 0) return std::nullopt;
  const auto samples = total_of_ranks(attempt, [](const RankRecord& rank) {
    double sum = 0;
    for (const StepRecord& step : rank.trace->steps) sum += static_cast<double>(step.samples);
    return std::optional<double>(sum);
  });
  return *samples * 1e9 / time_ns;
}

// Of all time after the warm-up; nothing where a step does not say.
std::optional<double> data_wait_share(const AttemptRecord& attempt) {
  return largest_of_ranks(attempt, [](const RankRecord& rank) -> std::optional<double> {
    const StepList& steps = rank.trace->steps;
    double waited_ns = 0;
    double all_ns = 0;
    for (std::size_t i = warm_up_steps(steps.size()); i < steps.size(); ++i) {
      if (!steps[i].phases.data_wait_ns) return std::nullopt;
      waited_ns += static_cast<double>(*steps[i].phases.data_wait_ns);
      all_ns += static_cast<double>(steps[i].step_time_ns);
    }
    return all_ns > 0 ? std::optional<double>(waited_ns / all_ns) : std::nullopt;
  });
}

std::optional<double> start_to_first_step_ns(const AttemptRecord& attempt) {
  return largest_of_ranks(attempt, [](const RankRecord& rank) {
    const auto time_ns = rank.result->start_to_first_step_ns;
    return time_ns > 0 ? std::optional<double>(static_cast<double>(time_ns)) : std::nullopt;
  });
}

Measurement utilisation(const AttemptRecord& attempt, const MeasurementSelection&) {
  const auto none = [&](const std::string& why) { return no_value(fmt::format("repeat {} {}", attempt.repeat, why)); };
  if (!attempt.telemetry) return none("had no GPU to read");
  const TelemetrySummary& telemetry = *attempt.telemetry;
  const auto percent = telemetry[Quantity::utilisation_percent];
  if (!percent) return none("has no reading of its GPU's utilisation");
  const std::int64_t gpus = std::max<std::int64_t>(static_cast<std::int64_t>(telemetry.gpus.size()), 1);
  if (telemetry.training_samples / gpus < kFewestUtilisationReadings) {
    return none(fmt::format("trained too briefly: {} readings of its GPU, {} would say something",
                            telemetry.training_samples / gpus, kFewestUtilisationReadings));
  }
  return {static_cast<double>(percent->median) / 100, std::nullopt, ""};
}

Measurement step_energy_j(const AttemptRecord& attempt, const MeasurementSelection&) {
  const auto none = [&](const std::string& why) { return no_value(fmt::format("repeat {}: {}", attempt.repeat, why)); };
  if (!attempt.telemetry) return none("it had no GPU to read");
  if (!attempt.telemetry->step_energy_j) return none(attempt.telemetry->step_energy_missing);
  return {*attempt.telemetry->step_energy_j, std::nullopt, ""};
}

}  // namespace reprobench
