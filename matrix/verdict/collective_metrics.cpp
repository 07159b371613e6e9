#include "matrix/verdict/collective_metrics.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "matrix/contract/collective.hpp"
#include "matrix/stats/robust.hpp"

namespace reprobench {
namespace {

Measurement no_value(std::string why) { return {std::nullopt, std::nullopt, std::move(why)}; }

std::string name_of(const ProbeMeasurement& measurement) {
  const auto size = measurement.labels.find("size");
  return size == measurement.labels.end() ? measurement.operation
                                          : fmt::format("{} of {}", measurement.operation, size->second);
}

// The same measurement on each rank; nothing where a rank has none.
using OnRanks = std::vector<const ProbeMeasurement*>;

const ProbeMeasurement* find_alike(const CellResult& result, const ProbeMeasurement& wanted) {
  const auto found = std::ranges::find_if(result.measurements, [&](const ProbeMeasurement& one) {
    return one.operation == wanted.operation && one.labels == wanted.labels;
  });
  return found == result.measurements.end() ? nullptr : &*found;
}

std::vector<OnRanks> selected(const AttemptRecord& attempt, const MeasurementSelection& of) {
  std::vector<OnRanks> all;
  for (const ProbeMeasurement& measurement : attempt.lead().result->measurements) {
    if (!of.selects(measurement)) continue;
    OnRanks& ranks = all.emplace_back();
    for (const RankRecord& rank : attempt.ranks) ranks.push_back(find_alike(*rank.result, measurement));
  }
  return all;
}

Measurement nothing_selected(const MeasurementSelection& of) {
  return no_value(fmt::format("the probe measured no {}", of.empty() ? "collective" : of.text()));
}

// Why it has no time; empty if every rank has.
std::string untimed(const OnRanks& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank] == nullptr) return fmt::format("rank {} did not measure {}", rank, name_of(*ranks.front()));
    if (ranks[rank]->status == MeasurementStatus::measured) continue;
    return fmt::format("{} was not timed: rank {}: {}", name_of(*ranks[rank]), rank, ranks[rank]->finding);
  }
  return "";
}

// What `count` finds on all ranks; the first finding is named.
Measurement counted(const AttemptRecord& attempt, const MeasurementSelection& of,
                    std::int64_t (*count)(const ProbeMeasurement&), const char* unit_of_count) {
  const std::vector<OnRanks> all = selected(attempt, of);
  if (all.empty()) return nothing_selected(of);
  Measurement sum{0.0, std::nullopt, ""};
  for (const OnRanks& ranks : all) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank] == nullptr) return no_value(untimed(ranks));
      const std::int64_t found = count(*ranks[rank]);
      *sum.value += static_cast<double>(found);
      if (found == 0 || !sum.finding.empty()) continue;
      const bool is_wrong = ranks[rank]->status == MeasurementStatus::wrong;
      sum.finding = fmt::format("first {} on rank {}: {}", name_of(*ranks[rank]), rank,
                                is_wrong ? ranks[rank]->finding : fmt::format("{} {}", found, unit_of_count));
    }
  }
  return sum;
}

// The nearest rank: of 100 samples the 99th.
double percentile_99(std::vector<double> samples) {
  const auto place = static_cast<std::ptrdiff_t>(std::ceil(0.99 * static_cast<double>(samples.size()))) - 1;
  std::nth_element(samples.begin(), samples.begin() + place, samples.end());
  return samples[static_cast<std::size_t>(place)];
}

double slowest_ns(const OnRanks& ranks, double (*of_samples)(const std::vector<double>&)) {
  double slowest = 0;
  for (const ProbeMeasurement* measurement : ranks) slowest = std::max(slowest, of_samples(measurement->samples));
  return slowest;
}

double p50(const std::vector<double>& samples) { return median(samples); }
double p99(const std::vector<double>& samples) { return percentile_99(samples); }

Measurement worst_of(const AttemptRecord& attempt, const MeasurementSelection& of, Better better,
                     std::optional<double> (*value_of)(const OnRanks&)) {
  Measurement worst;
  std::size_t several = 0;
  for (const OnRanks& ranks : selected(attempt, of)) {
    if (const std::string why = untimed(ranks); !why.empty()) return no_value(why);
    const std::optional<double> value = value_of(ranks);
    if (!value) continue;
    ++several;
    if (worst.value && (better == Better::lower ? *value <= *worst.value : *value >= *worst.value)) continue;
    worst = {value, std::nullopt, "", name_of(*ranks.front())};
    if (!ranks.front()->finding.empty()) worst.finding += ", " + ranks.front()->finding;
  }
  if (!worst.value) return nothing_selected(of);
  if (several > 1) worst.finding = fmt::format("the worst of {} is {}", several, worst.finding);
  return worst;
}

std::optional<double> algorithm_bandwidth(const OnRanks& ranks) {
  const std::int64_t bytes = ranks.front()->bytes;
  if (bytes == 0) return std::nullopt;  // a barrier moves nothing
  return static_cast<double>(bytes) / slowest_ns(ranks, &p50);
}

std::optional<double> bus_bandwidth(const OnRanks& ranks) {
  const Collective* collective = find_collective(ranks.front()->operation);
  const std::optional<double> bandwidth = algorithm_bandwidth(ranks);
  if (collective == nullptr || !bandwidth) return std::nullopt;
  return *bandwidth * collective->bus_factor(static_cast<int>(ranks.size()));
}

// How many digests of `measured` differ from those of `expected` on any rank, and the first of them.
Measurement changed_orders(const AttemptRecord& measured, const AttemptRecord& expected, const std::string& against) {
  if (measured.ranks.size() != expected.ranks.size()) {
    return no_value(fmt::format("{} ranks against {}", measured.ranks.size(), expected.ranks.size()));
  }
  Measurement changed{0.0, std::nullopt, ""};
  std::size_t compared = 0;
  for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank) {
    for (const ProbeMeasurement& ours : measured.ranks[rank].result->measurements) {
      const ProbeMeasurement* theirs = find_alike(*expected.ranks[rank].result, ours);
      if (ours.digest.empty() || theirs == nullptr || theirs->digest.empty()) continue;
      ++compared;
      if (ours.digest == theirs->digest) continue;
      *changed.value += 1;
      if (changed.finding.empty()) {
        changed.finding = fmt::format("first {} on rank {}, against {}", name_of(ours), rank, against);
      }
    }
  }
  return compared > 0 ? changed : no_value("no sum was made on both sides whose order could be compared");
}

}  // namespace

Measurement wrong_collectives(const AttemptRecord& attempt, const MeasurementSelection& of) {
  const auto is_wrong = [](const ProbeMeasurement& one) -> std::int64_t {
    return one.status == MeasurementStatus::wrong;
  };
  return counted(attempt, of, is_wrong, "wrong");
}

Measurement differing_calls(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return counted(
      attempt, of, [](const ProbeMeasurement& one) { return one.results_differing; },
      "calls with other bits than the first");
}

Measurement differing_ranks(const AttemptRecord& attempt, const MeasurementSelection& of) {
  Measurement differing{0.0, std::nullopt, ""};
  std::size_t compared = 0;
  for (const OnRanks& ranks : selected(attempt, of)) {
    const Collective* collective = find_collective(ranks.front()->operation);
    if (collective == nullptr || !collective->is_same_everywhere || ranks.front()->digest.empty()) continue;
    ++compared;
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      if (ranks[rank] != nullptr && ranks[rank]->digest == ranks.front()->digest) continue;
      *differing.value += 1;
      if (!differing.finding.empty()) break;
      differing.finding = fmt::format("first {}: rank {} holds other bits than rank 0", name_of(*ranks.front()), rank);
      break;
    }
  }
  return compared > 0 ? differing : nothing_selected(of);
}

Measurement latency_p50_ns(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return worst_of(attempt, of, Better::lower,
                  [](const OnRanks& ranks) { return std::optional(slowest_ns(ranks, &p50)); });
}

Measurement latency_p99_ns(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return worst_of(attempt, of, Better::lower,
                  [](const OnRanks& ranks) { return std::optional(slowest_ns(ranks, &p99)); });
}

Measurement algorithm_bandwidth_gb_per_s(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return worst_of(attempt, of, Better::higher, &algorithm_bandwidth);
}

Measurement bus_bandwidth_gb_per_s(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return worst_of(attempt, of, Better::higher, &bus_bandwidth);
}

Measurement changed_orders_between_repeats(const CellEvidence& cell, const CellEvidence*) {
  if (cell.repeats.size() < 2) return no_value("needs at least 2 repeats, the cell has 1");
  Measurement worst{0.0, std::nullopt, ""};
  for (std::size_t i = 1; i < cell.repeats.size(); ++i) {
    Measurement one = changed_orders(cell.repeats[i], cell.repeats[0], "repeat 0");
    if (!one.value) return one;
    one.repeat = cell.repeats[i].repeat;
    if (*one.value > *worst.value) worst = std::move(one);
  }
  return worst;
}

Measurement changed_orders_to_reference(const CellEvidence& cell, const CellEvidence* reference) {
  return changed_orders(cell.repeats[0], reference->repeats[0], reference->slug);
}

}  // namespace reprobench
