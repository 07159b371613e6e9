#include "suites/worker/ranks/late_rank.hpp"

#include <algorithm>
#include <vector>

namespace reprobench {

LateRank latest_rank(std::span<const double> entered_ns, int ranks) {
  const std::size_t calls = entered_ns.size() / static_cast<std::size_t>(ranks);
  LateRank latest;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<double> after_ns(calls);
    for (std::size_t call = 0; call < calls; ++call) {
      double first = entered_ns[call];
      for (int other = 1; other < ranks; ++other) {
        first = std::min(first, entered_ns[static_cast<std::size_t>(other) * calls + call]);
      }
      after_ns[call] = entered_ns[static_cast<std::size_t>(rank) * calls + call] - first;
    }
    const auto middle = after_ns.begin() + static_cast<std::ptrdiff_t>(calls / 2);
    std::nth_element(after_ns.begin(), middle, after_ns.end());
    if (calls > 0 && *middle > latest.median_ns) latest = {rank, *middle};
  }
  return latest;
}

}  // namespace reprobench
