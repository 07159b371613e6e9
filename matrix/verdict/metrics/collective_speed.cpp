// How long a collective takes and how many bytes it moves in that time, by itself.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "matrix/contract/collective.hpp"
#include "matrix/stats/robust.hpp"
#include "matrix/stats/transfer_fit.hpp"
#include "matrix/verdict/metrics/collective_metrics.hpp"
#include "matrix/verdict/metrics/collectives_on_ranks.hpp"

namespace reprobench {
namespace {

double p50(const std::vector<double>& samples) { return median(samples); }
double p99(const std::vector<double>& samples) { return percentile(samples, 0.99); }

Measurement worst_of(const AttemptRecord& attempt, const MeasurementSelection& of, Better better,
                     std::optional<double> (*value_of)(const OnRanks&)) {
  const SelectedOnRanks selection = selected(attempt, of);
  if (!selection.gap.empty()) return no_value(selection.gap);
  Measurement worst;
  std::size_t several = 0;
  for (const OnRanks& ranks : selection.all) {
    if (const std::string why = untimed(ranks); !why.empty()) return no_value(why);
    const std::optional<double> value = value_of(ranks);
    if (!value) continue;
    ++several;
    if (worst.value && (better == Better::lower ? *value <= *worst.value : *value >= *worst.value)) continue;
    worst = {value, std::nullopt, "", collective_name(*ranks.front())};
    if (!ranks.front()->algorithm.empty()) worst.finding += " by " + ranks.front()->algorithm;
    if (!ranks.front()->finding.empty()) worst.finding += ", " + ranks.front()->finding;
  }
  if (!worst.value) return no_value(fmt::format("{} moves no bytes", collective_name(*selection.all.front().front())));
  if (several > 1) worst.finding = fmt::format("the worst of {} is {}", several, worst.finding);
  return worst;
}

std::optional<double> algorithm_bandwidth(const OnRanks& ranks) {
  if (find_collective(ranks.front()->operation) == nullptr) return std::nullopt;  // a barrier moves nothing
  return static_cast<double>(ranks.front()->bytes) / slowest_ns(ranks, &p50);
}

std::optional<double> bus_bandwidth(const OnRanks& ranks) {
  const std::optional<double> bandwidth = algorithm_bandwidth(ranks);
  if (!bandwidth) return std::nullopt;
  return *bandwidth * find_collective(ranks.front()->operation)->bus_factor(static_cast<int>(ranks.size()));
}

// Which rank's link is unknown; empty if none's is.
std::string unlinked(const SelectedOnRanks& selection) {
  for (const OnRanks& ranks : selection.all) {
    if (find_collective(ranks.front()->operation) == nullptr) continue;
    const auto without =
        std::ranges::find_if_not(ranks, [](const auto* one) { return one->link_gb_per_s.has_value(); });
    if (without == ranks.end()) continue;
    return fmt::format("rank {} names no direct link to the other ranks for {}", without - ranks.begin(),
                       collective_name(**without));
  }
  return "";
}

std::optional<double> link_share(const OnRanks& ranks) {
  const std::optional<double> bandwidth = bus_bandwidth(ranks);
  if (!bandwidth) return std::nullopt;
  double slowest_link = *ranks.front()->link_gb_per_s;
  for (const ProbeMeasurement* one : ranks) slowest_link = std::min(slowest_link, *one->link_gb_per_s);
  return *bandwidth / slowest_link;
}

// Every size of an operation, with its time on the slowest rank.
struct Sizes {
  std::vector<Transfer> transfers;
  std::vector<std::string> names;
};

// Of a time that is so far from its fit nobody would say that the fit explains it.
constexpr double kFarthestFactor = 2;

// The worst operation's `value`, if the sizes of each make a fit.
Measurement worst_fit(const AttemptRecord& attempt, const MeasurementSelection& of, Better better,
                      double TransferFit::*value) {
  const SelectedOnRanks selection = selected(attempt, of);
  if (!selection.gap.empty()) return no_value(selection.gap);
  std::map<std::string, Sizes> by_operation;
  for (const OnRanks& ranks : selection.all) {
    if (find_collective(ranks.front()->operation) == nullptr) continue;  // a barrier moves nothing
    if (const std::string why = untimed(ranks); !why.empty()) return no_value(why);
    Sizes& sizes = by_operation[ranks.front()->operation];
    sizes.transfers.push_back({static_cast<double>(ranks.front()->bytes), slowest_ns(ranks, &fastest_tenth)});
    sizes.names.push_back(collective_name(*ranks.front()));
  }
  if (by_operation.empty()) return no_value("the probe moved no bytes");
  Measurement worst;
  for (const auto& [operation, sizes] : by_operation) {
    const auto fit = fit_transfers(sizes.transfers);
    if (!fit) return no_value(fmt::format("no startup time and bandwidth explain {}", operation));
    if (fit->worst_factor > kFarthestFactor) {
      return no_value(fmt::format("the fit of {} is a factor of {:.2f} off at {}", operation, fit->worst_factor,
                                  sizes.names[fit->worst]));
    }
    const double found = (*fit).*value;
    if (worst.value && (better == Better::lower ? found <= *worst.value : found >= *worst.value)) continue;
    worst = {found, std::nullopt, "",
             fmt::format("{} over {} sizes: {:.3g} us + bytes at {:.3g} GB/s, at most a factor of {:.2f} off ({})",
                         operation, sizes.names.size(), fit->startup_ns * 1e-3, fit->bandwidth_gb_per_s,
                         fit->worst_factor, sizes.names[fit->worst])};
  }
  return worst;
}

}  // namespace

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

Measurement bus_bandwidth_share(const AttemptRecord& attempt, const MeasurementSelection& of) {
  const SelectedOnRanks selection = selected(attempt, of);
  if (const std::string why = unlinked(selection); selection.gap.empty() && !why.empty()) return no_value(why);
  return worst_of(attempt, of, Better::higher, &link_share);
}

Measurement startup_ns(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return worst_fit(attempt, of, Better::lower, &TransferFit::startup_ns);
}

Measurement fitted_bandwidth_gb_per_s(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return worst_fit(attempt, of, Better::higher, &TransferFit::bandwidth_gb_per_s);
}

}  // namespace reprobench
