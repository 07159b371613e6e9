#include "matrix/verdict/metrics/learning_metrics.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "matrix/base/number.hpp"
#include "matrix/verdict/metrics/over_ranks.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kFewestEndSteps = 5;

// Mean losses of the two ends of one rank's run.
struct LossEnds {
  double first = 0;
  double last = 0;
  std::size_t steps = 0;  // of each end
  std::size_t of = 0;
  std::string missing = {};  // sentence; set: there are none
};

LossEnds no_ends(std::string why) {
  LossEnds ends;
  ends.missing = std::move(why);
  return ends;
}

LossEnds ends_of(const RankRecord& rank) {
  const StepList& steps = rank.trace->steps;
  const auto count = end_steps(steps.size());
  if (!count) return no_ends(fmt::format("has {} steps, too few for a beginning and an end", steps.size()));
  LossEnds ends{0, 0, *count, steps.size()};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto loss = exact_float_from_json(steps[i].loss);
    if (!loss) return no_ends(fmt::format("has no loss at step {}", steps[i].step));
    if (i < *count) ends.first += *loss / static_cast<double>(*count);
    if (i >= steps.size() - *count) ends.last += *loss / static_cast<double>(*count);
  }
  return ends;
}

std::string missing_in(const AttemptRecord& attempt, const std::string& why) {
  return fmt::format("repeat {} {}", attempt.repeat, why);
}

// Of all seeds: their end losses, or the first reason why one has none.
struct SeedEnds {
  std::vector<double> losses;
  std::vector<std::string> labels;
  std::string missing;
};

std::string seed_of(const AttemptRecord& attempt) {
  const auto seed = said_of<&Settings::seed>(attempt.lead().result->knobs_resolved);
  return seed ? std::to_string(*seed) : "?";
}

SeedEnds ends_of_seeds(const CellEvidence& seeds) {
  SeedEnds ends;
  for (const AttemptRecord& attempt : seeds.repeats) {
    const Measurement one = end_loss(attempt, {});
    if (!one.value) {
      ends.missing = fmt::format("seed {}: {}", seed_of(attempt), one.missing);
      return ends;
    }
    ends.losses.push_back(*one.value);
    ends.labels.push_back(seed_of(attempt));
  }
  return ends;
}

bool trains_alike(const AttemptRecord& one, const AttemptRecord& other) {
  const CellResult& ours = *one.lead().result;
  const CellResult& theirs = *other.lead().result;
  return ours.workload_digest == theirs.workload_digest || ours.chain == theirs.chain;
}

}  // namespace

std::optional<std::size_t> end_steps(std::size_t steps) {
  const std::size_t count = std::max(kFewestEndSteps, steps / 10);
  return 2 * count <= steps ? std::optional(count) : std::nullopt;
}

std::optional<double> final_loss(const AttemptRecord& attempt) {
  return largest_of_ranks(attempt, [](const RankRecord& rank) {
    return rank.trace->steps.empty() ? std::nullopt : exact_float_from_json(rank.trace->steps.back().loss);
  });
}

Measurement end_loss(const AttemptRecord& attempt, const MeasurementSelection&) {
  Measurement largest;
  for (const RankRecord& rank : attempt.ranks) {
    const LossEnds ends = ends_of(rank);
    if (!ends.missing.empty()) return no_value(missing_in(attempt, ends.missing));
    if (largest.value && ends.last <= *largest.value) continue;
    largest.value = ends.last;
    largest.finding = fmt::format("mean of the last {} of {} steps, of the first {}: {:.4g}", ends.steps, ends.of,
                                  ends.steps, ends.first);
  }
  return largest;
}

Measurement loss_fall_rel(const AttemptRecord& attempt, const MeasurementSelection&) {
  Measurement least;
  for (const RankRecord& rank : attempt.ranks) {
    const LossEnds ends = ends_of(rank);
    if (!ends.missing.empty()) return no_value(missing_in(attempt, ends.missing));
    if (!(ends.first > 0)) {
      return no_value(
          missing_in(attempt, fmt::format("begins at a loss of {:.4g}, of which there is no share", ends.first)));
    }
    const double fall = 1 - ends.last / ends.first;
    if (least.value && fall >= *least.value) continue;
    least.value = fall;
    least.finding = fmt::format("{:.4g} in the first {} steps, {:.4g} in the last", ends.first, ends.steps, ends.last);
  }
  return least;
}

Measurement weight_change_rel(const AttemptRecord& attempt, const MeasurementSelection&) {
  Measurement change;
  for (const RankRecord& rank : attempt.ranks) {
    const std::optional<double> one = rank.result->weight_change_rel;
    if (!one)
      return no_value(missing_in(attempt, "did not measure how far its weights came from their initial values"));
    if (change.value && *change.value != *one) {
      return no_value(missing_in(attempt, "has ranks whose weights came differently far"));
    }
    change.value = one;
  }
  return change;
}

Measurement alike_seeds(const CellEvidence& cell, const CellEvidence* seeds) {
  const AttemptRecord& own = cell.repeats.front();
  std::string alike;
  double count = 0;
  for (const AttemptRecord& other : seeds->repeats) {
    if (other.nonce == own.nonce || !trains_alike(own, other)) continue;
    ++count;
    alike += (alike.empty() ? "" : ", ") + seed_of(other);
  }
  Measurement found;
  found.value = count;
  found.statement = count == 0 ? fmt::format("none of {} other seeds trains what seed {} does",
                                             seeds->repeats.size() - 1, seed_of(own))
                               : fmt::format("seed {} trains what these do: {}", seed_of(own), alike);
  return found;
}

Measurement seed_spread_rel(const CellEvidence&, const CellEvidence* seeds) {
  const SeedEnds ends = ends_of_seeds(*seeds);
  if (!ends.missing.empty()) return no_value(ends.missing);
  const auto [least, largest] = std::ranges::minmax_element(ends.losses);
  double mean = 0;
  for (const double loss : ends.losses) mean += loss / static_cast<double>(ends.losses.size());
  if (!(mean > 0))
    return no_value(fmt::format("the seeds end at a mean loss of {:.4g}, of which there is no share", mean));
  const auto label = [&](auto place) { return ends.labels[static_cast<std::size_t>(place - ends.losses.begin())]; };
  Measurement spread;
  spread.value = (*largest - *least) / mean;
  spread.statement = fmt::format("{} seeds end from {:.4g} (seed {}) to {:.4g} (seed {}), {:.3g} of their mean",
                                 ends.losses.size(), *least, label(least), *largest, label(largest), *spread.value);
  return spread;
}

}  // namespace reprobench
