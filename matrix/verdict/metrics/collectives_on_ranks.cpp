#include "matrix/verdict/metrics/collectives_on_ranks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/contract/collective.hpp"
#include "matrix/stats/robust.hpp"

namespace reprobench {

std::string collective_name(const CollectiveKey& key) {
  const auto size = key.second.find("size");
  return size == key.second.end() ? key.first : fmt::format("{} of {}", key.first, size->second);
}

std::string collective_name(const ProbeMeasurement& measurement) {
  return collective_name(CollectiveKey{measurement.operation, measurement.labels});
}

const ProbeMeasurement* find_alike(const CellResult& result, const ProbeMeasurement& wanted) {
  const auto found = std::ranges::find_if(result.measurements, [&](const ProbeMeasurement& one) {
    return one.operation == wanted.operation && one.labels == wanted.labels;
  });
  return found == result.measurements.end() ? nullptr : &*found;
}

SelectedOnRanks selected(const AttemptRecord& attempt, const MeasurementSelection& of) {
  SelectedOnRanks selection;
  for (const RankRecord& by_rank : attempt.ranks) {
    for (const ProbeMeasurement& measurement : by_rank.result->measurements) {
      if (!of.selects(measurement)) continue;
      OnRanks ranks;
      for (const RankRecord& rank : attempt.ranks) {
        ranks.push_back(find_alike(*rank.result, measurement));
        if (ranks.back() != nullptr) continue;
        selection.gap = fmt::format("rank {} did not measure {}", ranks.size() - 1, collective_name(measurement));
        return selection;
      }
      if (&by_rank == &attempt.ranks.front()) selection.all.push_back(std::move(ranks));
    }
  }
  if (selection.all.empty()) {
    selection.gap = fmt::format("the probe measured no {}", of.empty() ? "collective" : of.text());
  }
  return selection;
}

bool is_done_here(const ProbeMeasurement* measurement) { return is_done(measurement->status); }

std::string untimed(const OnRanks& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (is_done_here(ranks[rank]) && find_collective(ranks[rank]->operation) != nullptr && ranks[rank]->bytes == 0) {
      return fmt::format("{} has no bytes on record on rank {}", collective_name(*ranks[rank]), rank);
    }
    if (ranks[rank]->status == MeasurementStatus::measured) continue;
    return fmt::format("{} was not timed: rank {}: {}", collective_name(*ranks[rank]), rank, ranks[rank]->finding);
  }
  return "";
}

double slowest_ns(const OnRanks& ranks, double (*of_samples)(const std::vector<double>&)) {
  double slowest = 0;
  for (const ProbeMeasurement* measurement : ranks) slowest = std::max(slowest, of_samples(measurement->samples));
  return slowest;
}

double fastest_tenth(const std::vector<double>& samples) { return percentile(samples, 0.1); }

}  // namespace reprobench
