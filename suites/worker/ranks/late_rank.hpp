// Which rank the others wait for, from when each entered each call.
#pragma once

#include <span>

namespace reprobench {

struct LateRank {
  int rank = 0;
  double median_ns = 0;  // after the first of each call
};

// `entered_ns`: all calls of rank 0, then of rank 1 ..., on one clock.
LateRank latest_rank(std::span<const double> entered_ns, int ranks);

}  // namespace reprobench
