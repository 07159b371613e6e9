// Collectives held against those of the reference, on machines whose ranks wait for cores.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "matrix/verdict/metrics/collective_metrics.hpp"
#include "matrix/verdict/metrics/collectives_on_ranks.hpp"

namespace reprobench {
namespace {

double fastest(const std::vector<double>& samples) { return samples.empty() ? 0 : std::ranges::min(samples); }

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
        const double tenth_ns = slowest_ns(ranks, &fastest_tenth);
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
    if (!there.of_ns.contains(key) && !there.lacking.contains(key)) return collective_name(key);
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
    worst.finding =
        fmt::format("{}, {:.1f} us against {:.1f} us", collective_name(key), time_ns / 1e3, expected->second / 1e3);
  }
  if (!worst.value) return no_value("no collective was timed on both sides");
  worst.finding = fmt::format("the worst of {} is {}", compared, worst.finding);
  const std::size_t alone = ours.of_ns.size() - compared;
  if (alone > 0) worst.finding += fmt::format("; {} more cannot be done by the reference", alone);
  return worst;
}

}  // namespace reprobench
