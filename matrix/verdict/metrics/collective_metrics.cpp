#include "matrix/verdict/metrics/collective_metrics.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "matrix/contract/collective.hpp"
#include "matrix/stats/robust.hpp"
#include "matrix/stats/transfer_fit.hpp"

namespace reprobench {
namespace {

using CollectiveKey = std::pair<std::string, decltype(ProbeMeasurement::labels)>;  // operation, labels

std::string name_of(const CollectiveKey& key) {
  const auto size = key.second.find("size");
  return size == key.second.end() ? key.first : fmt::format("{} of {}", key.first, size->second);
}

std::string name_of(const ProbeMeasurement& measurement) {
  return name_of(CollectiveKey{measurement.operation, measurement.labels});
}

// The same measurement on each rank.
using OnRanks = std::vector<const ProbeMeasurement*>;

// Of the measurements that a threshold is about each on all ranks, or what one rank lacks of them.
struct SelectedOnRanks {
  std::vector<OnRanks> all;
  std::string gap;
};

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
        selection.gap = fmt::format("rank {} did not measure {}", ranks.size() - 1, name_of(measurement));
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
bool is_left_out(const ProbeMeasurement* measurement) { return measurement->status == MeasurementStatus::left_out; }

// Why it has no time; empty if every rank has.
std::string untimed(const OnRanks& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (is_done_here(ranks[rank]) && find_collective(ranks[rank]->operation) != nullptr && ranks[rank]->bytes == 0) {
      return fmt::format("{} has no bytes on record on rank {}", name_of(*ranks[rank]), rank);
    }
    if (ranks[rank]->status == MeasurementStatus::measured) continue;
    return fmt::format("{} was not timed: rank {}: {}", name_of(*ranks[rank]), rank, ranks[rank]->finding);
  }
  return "";
}

// "reduce_scatter of 1MiB: rank 0: Gloo has none", of that rank.
std::string said_of(const OnRanks& ranks, OnRanks::const_iterator rank) {
  return fmt::format("{}: rank {}: {}", name_of(**rank), rank - ranks.begin(), (*rank)->finding);
}

// A count over those collectives that `is_meant` names, as far as every rank has done them: what none can do is said,
// what some can do, and a count of nothing, has no value. `look` adds what it finds of one collective, and names what
// keeps it from looking.
using Look = std::string (*)(const OnRanks& ranks, Measurement& count);

Measurement counted(const AttemptRecord& attempt, const MeasurementSelection& of, std::string_view what,
                    bool (*is_meant)(const Collective* collective), Look look) {
  const SelectedOnRanks selection = selected(attempt, of);
  if (!selection.gap.empty()) return no_value(selection.gap);
  Measurement count{0.0, std::nullopt, ""};
  std::size_t done = 0;
  std::vector<std::string> not_done;
  std::string left_out;
  for (const OnRanks& ranks : selection.all) {
    if (!is_meant(find_collective(ranks.front()->operation))) continue;
    const auto lacking = std::ranges::find_if_not(ranks, &is_done_here);
    if (lacking != ranks.end()) {
      not_done.push_back(said_of(ranks, lacking));
      if (std::ranges::any_of(ranks, &is_done_here)) return no_value("not every rank has done " + not_done.back());
      const auto without_memory = std::ranges::find_if(ranks, &is_left_out);
      if (left_out.empty() && without_memory != ranks.end()) left_out = said_of(ranks, without_memory);
      continue;
    }
    ++done;
    if (const std::string why = look(ranks, count); !why.empty()) return no_value(why);
  }
  if (done == 0) {
    return no_value(not_done.empty() ? fmt::format("the probe made no {}", what)
                                     : fmt::format("no {} was done: {}", what, not_done.front()));
  }
  if (not_done.empty()) return count;
  // A stack that lacks a call lacks it on every host; what this host had no memory for may well be wrong.
  if (!left_out.empty() && *count.value == 0) return no_value("not all of it was done: " + left_out);
  if (!count.finding.empty()) count.finding += "; ";
  count.finding += fmt::format("{} more could not be done, first {}", not_done.size(), not_done.front());
  return count;
}

bool is_any(const Collective*) { return true; }
bool is_sum(const Collective* collective) { return collective != nullptr && collective->adds_up; }
bool is_same_sum(const Collective* collective) { return is_sum(collective) && collective->is_same_everywhere; }

std::string add_wrong(const OnRanks& ranks, Measurement& count) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank]->status != MeasurementStatus::wrong || ++*count.value > 1) continue;
    count.finding = fmt::format("first {} on rank {}: {}", name_of(*ranks[rank]), rank, ranks[rank]->finding);
  }
  return "";
}

std::string add_differing_calls(const OnRanks& ranks, Measurement& count) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const ProbeMeasurement& one = *ranks[rank];
    if (one.results_compared == 0) return fmt::format("{} was not repeated on rank {}", name_of(one), rank);
    if (one.results_differing > 0 && *count.value == 0) {
      count.finding = fmt::format("first {} on rank {}: {} calls with other bits than the first", name_of(one), rank,
                                  one.results_differing);
    }
    *count.value += static_cast<double>(one.results_differing);
  }
  return "";
}

std::string add_differing_ranks(const OnRanks& ranks, Measurement& count) {
  const auto without_sum = std::ranges::find_if(ranks, [](const auto* one) { return one->digest.empty(); });
  if (without_sum != ranks.end()) {
    return fmt::format("rank {} left no sum of {}", without_sum - ranks.begin(), name_of(**without_sum));
  }
  const auto other = std::ranges::find_if(ranks, [&](const auto* one) { return one->digest != ranks.front()->digest; });
  if (other == ranks.end() || ++*count.value > 1) return "";
  count.finding =
      fmt::format("first {}: rank {} holds other bits than rank 0", name_of(**other), other - ranks.begin());
  return "";
}

double slowest_ns(const OnRanks& ranks, double (*of_samples)(const std::vector<double>&)) {
  double slowest = 0;
  for (const ProbeMeasurement* measurement : ranks) slowest = std::max(slowest, of_samples(measurement->samples));
  return slowest;
}

double p50(const std::vector<double>& samples) { return median(samples); }
double p99(const std::vector<double>& samples) { return percentile(samples, 0.99); }
// What a busy machine moves least: where ranks wait for a core, every second call may take a time slice.
double p10(const std::vector<double>& samples) { return percentile(samples, 0.1); }
double fastest(const std::vector<double>& samples) { return samples.empty() ? 0 : std::ranges::min(samples); }

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
    worst = {value, std::nullopt, "", name_of(*ranks.front())};
    if (!ranks.front()->algorithm.empty()) worst.finding += " by " + ranks.front()->algorithm;
    if (!ranks.front()->finding.empty()) worst.finding += ", " + ranks.front()->finding;
  }
  if (!worst.value) return no_value(fmt::format("{} moves no bytes", name_of(*selection.all.front().front())));
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
                       name_of(**without));
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
    sizes.transfers.push_back({static_cast<double>(ranks.front()->bytes), slowest_ns(ranks, &p10)});
    sizes.names.push_back(name_of(*ranks.front()));
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

// Sums of two attempts held against each other, rank by rank.
struct ComparedOrders {
  std::size_t compared = 0;
  std::size_t changed = 0;
  std::string first_changed;
  std::size_t lone = 0;    // that one side alone can make
  std::string first_lone;  // "reduce_scatter of 8B on rank 0: Gloo has none"
  std::string problem;     // a sum that one side should have and has not
};

void hold_sum_against(const ProbeMeasurement* ours, const ProbeMeasurement* theirs, std::size_t rank,
                      ComparedOrders& orders) {
  const auto has_sum = [](const ProbeMeasurement* one) { return one != nullptr && !one->digest.empty(); };
  if (!has_sum(ours) && !has_sum(theirs)) return;
  const std::string name = fmt::format("{} on rank {}", name_of(has_sum(ours) ? *ours : *theirs), rank);
  if (has_sum(ours) && has_sum(theirs)) {
    ++orders.compared;
    if (ours->digest != theirs->digest && orders.changed++ == 0) orders.first_changed = name;
    return;
  }
  const ProbeMeasurement* lacking = has_sum(ours) ? theirs : ours;
  if (lacking == nullptr || is_done_here(lacking)) {
    orders.problem = fmt::format("{} left a sum on one side alone", name);
  } else if (orders.lone++ == 0) {
    orders.first_lone = fmt::format("{}: {}", name, lacking->finding);
  }
}

ComparedOrders compare_orders(const AttemptRecord& measured, const AttemptRecord& expected) {
  ComparedOrders orders;
  if (measured.ranks.size() != expected.ranks.size()) {
    orders.problem = fmt::format("{} ranks against {}", measured.ranks.size(), expected.ranks.size());
    return orders;
  }
  for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank) {
    const CellResult& ours = *measured.ranks[rank].result;
    const CellResult& theirs = *expected.ranks[rank].result;
    for (const ProbeMeasurement& one : ours.measurements) hold_sum_against(&one, find_alike(theirs, one), rank, orders);
    for (const ProbeMeasurement& one : theirs.measurements) {
      if (find_alike(ours, one) == nullptr) hold_sum_against(nullptr, &one, rank, orders);
    }
  }
  if (orders.problem.empty() && orders.compared == 0) {
    orders.problem = "no sum was made on both sides whose order could be compared";
  }
  return orders;
}

Measurement changed_orders(const ComparedOrders& orders, const std::string& against) {
  if (!orders.problem.empty()) return no_value(orders.problem);
  Measurement changed{static_cast<double>(orders.changed), std::nullopt, ""};
  if (orders.changed > 0) changed.finding = fmt::format("first {}, against {}", orders.first_changed, against);
  if (orders.lone == 0) return changed;
  if (!changed.finding.empty()) changed.finding += "; ";
  changed.finding += fmt::format("{} more made on one side alone, first {}", orders.lone, orders.first_lone);
  return changed;
}

bool is_not_to_be_had(const ProbeMeasurement* measurement) {
  return measurement->status == MeasurementStatus::unsupported;
}

// Of a cell's collectives the fastest tenth of calls, in its fastest repeat: other load makes a call longer alone.
struct QuietTimes {
  std::map<CollectiveKey, double> of_ns;
  std::map<CollectiveKey, double> fastest_ns;    // a single call
  std::map<CollectiveKey, double> of_worst_ns;   // the fastest tenth in the slowest repeat
  std::map<CollectiveKey, std::string> lacking;  // what the stack cannot do, and why
  std::string gap;                               // what was not timed though it can be done
};

QuietTimes quiet_times(const CellEvidence& cell) {
  QuietTimes times;
  for (const AttemptRecord& repeat : cell.repeats) {
    const SelectedOnRanks selection = selected(repeat, {});
    times.gap = selection.gap;
    if (!times.gap.empty()) return times;
    for (const OnRanks& ranks : selection.all) {
      const CollectiveKey key{ranks.front()->operation, ranks.front()->labels};
      const std::string why = untimed(ranks);
      if (!why.empty() && std::ranges::all_of(ranks, &is_not_to_be_had)) {
        times.lacking.emplace(key, why);
      } else if (!why.empty()) {
        times.gap = why;
        return times;
      } else {
        const auto keep_lower = [&](std::map<CollectiveKey, double>& times_ns, double time_ns) {
          const auto [known, is_new] = times_ns.emplace(key, time_ns);
          known->second = std::min(known->second, time_ns);
        };
        const double tenth_ns = slowest_ns(ranks, &p10);
        keep_lower(times.of_ns, tenth_ns);
        double& worst_ns = times.of_worst_ns[key];
        worst_ns = std::max(worst_ns, tenth_ns);
        keep_lower(times.fastest_ns, slowest_ns(ranks, &fastest));
      }
    }
  }
  return times;
}

// By how much load made an operation that takes `time_ns` or less longer in one repeat than in another. A call that
// waits for a core waits as long whatever it does, 4 ms for one slice of the scheduler; longer calls vary by
// themselves.
double waited_ns(const QuietTimes& times, double time_ns) {
  double most_ns = 0;
  for (const auto& [key, worst_ns] : times.of_worst_ns) {
    const double quiet_ns = times.of_ns.at(key);
    if (quiet_ns <= time_ns) most_ns = std::max(most_ns, worst_ns - quiet_ns);
  }
  return most_ns;
}

// What was timed here and not there; empty where there could not do it.
std::string timed_here_alone(const QuietTimes& here, const QuietTimes& there) {
  for (const auto& [key, time_ns] : here.of_ns) {
    if (!there.of_ns.contains(key) && !there.lacking.contains(key)) return name_of(key);
  }
  return "";
}

// Why the times of the two cells cannot be held against each other; empty: they can.
std::string not_timed_alike(const QuietTimes& ours, const QuietTimes& theirs, const std::string& reference) {
  if (!ours.gap.empty()) return ours.gap;
  if (!theirs.gap.empty()) return fmt::format("{}: {}", reference, theirs.gap);
  for (const auto& [key, why] : ours.lacking) {
    if (theirs.of_ns.contains(key)) return why;
  }
  const std::string here = timed_here_alone(ours, theirs);
  if (!here.empty()) return fmt::format("{} did not measure {}", reference, here);
  const std::string there = timed_here_alone(theirs, ours);
  return there.empty() ? "" : fmt::format("{} was timed for the reference alone", there);
}

}  // namespace

Measurement wrong_collectives(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return counted(attempt, of, "collective", &is_any, &add_wrong);
}

Measurement differing_calls(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return counted(attempt, of, "sum", &is_sum, &add_differing_calls);
}

Measurement differing_ranks(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return counted(attempt, of, "sum that all ranks hold", &is_same_sum, &add_differing_ranks);
}

Measurement latency_p50_ns(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return worst_of(attempt, of, Better::lower,
                  [](const OnRanks& ranks) { return std::optional(slowest_ns(ranks, &p50)); });
}

Measurement latency_p99_ns(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return worst_of(attempt, of, Better::lower,
                  [](const OnRanks& ranks) { return std::optional(slowest_ns(ranks, &p99)); });
}

Measurement latency_ratio(const CellEvidence& cell, const CellEvidence* reference) {
  const QuietTimes ours = quiet_times(cell);
  const QuietTimes theirs = quiet_times(*reference);
  if (const std::string why = not_timed_alike(ours, theirs, reference->slug); !why.empty()) return no_value(why);
  Measurement worst;
  std::size_t compared = 0;
  for (const auto& [key, time_ns] : ours.of_ns) {
    const auto expected = theirs.of_ns.find(key);
    if (expected == theirs.of_ns.end()) continue;
    ++compared;
    const double ratio = time_ns / expected->second;
    const double without_wait_ns = std::max(0.0, time_ns - waited_ns(theirs, expected->second));
    const double at_best = std::min(ours.fastest_ns.at(key), without_wait_ns) / expected->second;
    worst.at_best = std::max(worst.at_best.value_or(at_best), at_best);
    if (worst.value && ratio <= *worst.value) continue;
    worst.value = ratio;
    worst.finding = fmt::format("{}, {:.1f} us against {:.1f} us", name_of(key), time_ns / 1e3, expected->second / 1e3);
  }
  if (!worst.value) return no_value("no collective was timed on both sides");
  worst.finding = fmt::format("the worst of {} is {}", compared, worst.finding);
  const std::size_t alone = ours.of_ns.size() - compared;
  if (alone > 0) worst.finding += fmt::format("; {} more cannot be done by the reference", alone);
  return worst;
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

Measurement changed_orders_between_repeats(const CellEvidence& cell, const CellEvidence*) {
  if (cell.repeats.size() < 2) return no_value("needs at least 2 repeats, the cell has 1");
  Measurement worst{0.0, std::nullopt, ""};
  for (std::size_t i = 1; i < cell.repeats.size(); ++i) {
    ComparedOrders orders = compare_orders(cell.repeats[i], cell.repeats[0]);
    // One stack can make a sum or cannot.
    if (orders.lone > 0 && orders.changed == 0)
      orders.problem = "a sum was made in one repeat alone: " + orders.first_lone;
    Measurement one = changed_orders(orders, "repeat 0");
    if (!one.value) return one;
    one.repeat = cell.repeats[i].repeat;
    if (*one.value > *worst.value) worst = std::move(one);
  }
  return worst;
}

Measurement changed_orders_to_reference(const CellEvidence& cell, const CellEvidence* reference) {
  Measurement worst;
  for (const AttemptRecord& repeat : cell.repeats) {
    Measurement one = changed_orders(compare_orders(repeat, reference->repeats[0]), reference->slug);
    if (!one.value) return one;
    one.repeat = repeat.repeat;
    if (!worst.value || *one.value > *worst.value) worst = std::move(one);
  }
  return worst;
}

}  // namespace reprobench
