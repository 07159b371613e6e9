// Finds the rank that the others wait for, from the times at which each rank entered each call.
#pragma once

#include <span>

namespace reprobench {

struct LateRank {
  int rank = 0;
  double median_ns = 0;  // how long after the first rank it enters a call
};

// `entered_ns` has all calls of rank 0, then of rank 1 ..., on one clock.
LateRank latest_rank(std::span<const double> entered_ns, int ranks);

}  // namespace reprobench
