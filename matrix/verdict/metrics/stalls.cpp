#include "matrix/verdict/metrics/stalls.hpp"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include "matrix/evidence/timed_steps.hpp"
#include "matrix/stats/robust.hpp"

namespace reprobench {
namespace {

constexpr double kStall = 3;         // times the median
constexpr std::size_t kFewGaps = 3;  // as many are no rhythm yet

struct Stalls {
  std::size_t steps = 0;                     // after warm-up
  std::vector<double> lengths;               // of each stall, by the median step of its repeat
  std::map<std::size_t, std::size_t> apart;  // steps from one to the next -> how often
};

void add_stalls_of(const AttemptRecord& attempt, Stalls& stalls) {
  const std::vector<double> all_ns = all_steps_ns(attempt);
  if (all_ns.empty()) return;
  const std::span<const double> times_ns = std::span(all_ns).subspan(warm_up_steps(all_ns.size()));
  const double median_ns = median(times_ns);
  stalls.steps += times_ns.size();
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < times_ns.size(); ++i) {
    if (times_ns[i] <= kStall * median_ns) continue;
    stalls.lengths.push_back(times_ns[i] / median_ns);
    if (last) ++stalls.apart[i - *last];
    last = i;
  }
}

// "mostly 50 steps apart"; empty where they have no rhythm.
std::string rhythm_of(const Stalls& stalls) {
  std::size_t gaps = 0;
  for (const auto& [steps, often] : stalls.apart) gaps += often;
  if (gaps <= kFewGaps) return "";
  const auto most = std::ranges::max_element(stalls.apart, {}, [](const auto& gap) { return gap.second; });
  return 2 * most->second < gaps ? "" : fmt::format(", mostly {} steps apart", most->first);
}

}  // namespace

std::string stalls_text(const CellEvidence& cell) {
  Stalls stalls;
  for (const AttemptRecord& attempt : cell.repeats) add_stalls_of(attempt, stalls);
  if (stalls.lengths.empty()) return "";
  return fmt::format("{} of {} steps after warm-up took more than {:.0f} times their median, {:.3g} times as a rule{}",
                     stalls.lengths.size(), stalls.steps, kStall, median(stalls.lengths), rhythm_of(stalls));
}

}  // namespace reprobench
