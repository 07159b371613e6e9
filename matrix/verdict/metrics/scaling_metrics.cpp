#include "matrix/verdict/metrics/scaling_metrics.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "matrix/evidence/timed_steps.hpp"
#include "matrix/stats/robust.hpp"
#include "matrix/verdict/quantity_text.hpp"

namespace reprobench {
namespace {

// The median step of each of the first `count` repeats; nothing if one has no step that counts.
std::optional<std::vector<double>> step_times_ns(const CellEvidence& cell, std::size_t count) {
  std::vector<double> medians_ns;
  for (const AttemptRecord& attempt : std::span(cell.repeats).first(count)) {
    const std::vector<double> times_ns = timed_steps_ns(attempt);
    if (times_ns.empty()) return std::nullopt;
    medians_ns.push_back(median(times_ns));
  }
  return medians_ns;
}

struct StepTimes {
  std::vector<double> together_ns;
  std::vector<double> alone_ns;  // of the same repeats: one side may have been repeated further for another cell
  std::string missing;           // sentence, where a side has no step that counts
};

StepTimes step_times(const CellEvidence& cell, const CellEvidence& alone) {
  const std::size_t pairs = std::min(cell.repeats.size(), alone.repeats.size());
  const auto together_ns = step_times_ns(cell, pairs);
  const auto alone_ns = step_times_ns(alone, pairs);
  if (together_ns && alone_ns) return {*together_ns, *alone_ns, ""};
  return {{}, {}, fmt::format("{} has no step that counts", (together_ns ? alone : cell).slug)};
}

// T(1) / T(N) of each pair of repeats, times `share`. `words` gets the medians of both sides.
Measurement efficiency(const StepTimes& times, double share, std::size_t ranks,
                       fmt::format_string<std::size_t&, std::string, std::string> words) {
  Measurement measurement;
  for (std::size_t pair = 0; pair < times.alone_ns.size(); ++pair) {
    measurement.of_pairs.push_back(share * times.alone_ns[pair] / times.together_ns[pair]);
  }
  measurement.statement =
      fmt::format(words, ranks, humanised(median(times.together_ns), "ns"), humanised(median(times.alone_ns), "ns"));
  return measurement;
}

// What differs between the work of one rank of the cell and that of the rank that is alone; empty: nothing does. Their
// digests cannot say it, for the batches differ.
std::string other_work(const CellEvidence& cell, const CellEvidence& alone) {
  const StepList& wanted = alone.repeats.front().lead().trace->steps;
  const auto differs = [&](const CellEvidence& side) -> std::string {
    for (const AttemptRecord& attempt : side.repeats) {
      for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
        const StepList& steps = attempt.ranks[rank].trace->steps;
        const auto name = [&] { return fmt::format("rank {} of repeat {} of {}", rank, attempt.repeat, side.slug); };
        if (steps.size() != wanted.size()) {
          return fmt::format("{} did {} steps, {} {}", name(), steps.size(), alone.slug, wanted.size());
        }
        for (std::size_t i = 0; i < steps.size(); ++i) {
          if (steps[i].samples == wanted[i].samples) continue;
          return fmt::format("{} trained {} samples in step {}, {} {}", name(), steps[i].samples, steps[i].step,
                             alone.slug, wanted[i].samples);
        }
      }
    }
    return "";
  };
  const std::string here = differs(cell);
  return here.empty() ? differs(alone) : here;
}

}  // namespace

Measurement strong_scaling_efficiency(const CellEvidence& cell, const CellEvidence* alone) {
  if (cell.repeats.front().ranks.size() == 1) return no_value("needs several ranks, the cell has 1");
  const StepTimes times = step_times(cell, *alone);
  if (!times.missing.empty()) return no_value(times.missing);
  const std::size_t ranks = cell.repeats.front().ranks.size();
  return efficiency(times, 1 / static_cast<double>(ranks), ranks,
                    "strong scaling: {} ranks take {} for a step, one rank {} for all of it");
}

Measurement weak_scaling_efficiency(const CellEvidence& cell, const CellEvidence* alone) {
  if (const std::string why = other_work(cell, *alone); !why.empty()) return no_value(why);
  const StepTimes times = step_times(cell, *alone);
  if (!times.missing.empty()) return no_value(times.missing);
  return efficiency(times, 1, cell.repeats.front().ranks.size(),
                    "weak scaling: {} ranks take {} for a step, one rank {} for one rank's share");
}

std::optional<double> communication_share(const AttemptRecord& attempt) {
  double communication_ns = 0;
  double all_ns = 0;
  for_each_timed_step(attempt, [&](const StepRecord& step) {
    communication_ns += static_cast<double>(step.phases.comm_ns);
    all_ns += static_cast<double>(step.step_time_ns);
  });
  return communication_ns > 0 ? std::optional(communication_ns / all_ns) : std::nullopt;
}

Measurement overlap_share(const AttemptRecord& attempt, const MeasurementSelection&) {
  const auto none = [&](const std::string& why) { return no_value(fmt::format("repeat {} {}", attempt.repeat, why)); };
  if (said_of<&Settings::overlap>(attempt.lead().result->knobs_resolved) != true) {
    return none("exchanged its gradients after the backward pass (overlap=off)");
  }
  Measurement least;
  std::vector<std::int64_t> timed;
  for_each_timed_step(attempt, [&](const StepRecord& step) { timed.push_back(step.step); });
  if (timed.empty()) return none("has no step that counts");
  for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const auto& steps = attempt.ranks[rank].trace->steps;
    double exchange_ns = 0;
    double hidden_ns = 0;
    for (const std::int64_t number : timed) {
      const StepRecord& step = steps.at(static_cast<std::size_t>(number - steps.front().step));
      const std::int64_t took_ns = step.phases.exchange_ns.value_or(0);
      const std::int64_t hid_ns = step.phases.exchange_hidden_ns.value_or(-1);
      if (took_ns <= 0 || hid_ns < 0 || hid_ns > took_ns) {
        return none(fmt::format("has no time of an exchange in step {} of rank {}", step.step, rank));
      }
      exchange_ns += static_cast<double>(took_ns);
      hidden_ns += static_cast<double>(hid_ns);
    }
    if (!least.value || hidden_ns / exchange_ns < *least.value) least.value = hidden_ns / exchange_ns;
  }
  return least;
}

}  // namespace reprobench
