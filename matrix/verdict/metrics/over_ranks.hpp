// One value of an attempt from those of its ranks. A time is the slowest rank's and device memory the fullest one's;
// host memory and samples add up, as the ranks share the host and the batch. If a rank lacks its value, so does the
// attempt.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

template <class Value>
std::optional<double> largest_of_ranks(const AttemptRecord& attempt, Value value) {
  std::optional<double> result;
  for (const RankRecord& rank : attempt.ranks) {
    const std::optional<double> one = value(rank);
    if (!one || std::isnan(*one)) return one;
    result = result ? std::max(*result, *one) : *one;
  }
  return result;
}

template <class Value>
std::optional<double> total_of_ranks(const AttemptRecord& attempt, Value value) {
  double sum = 0;
  for (const RankRecord& rank : attempt.ranks) {
    const std::optional<double> one = value(rank);
    if (!one) return std::nullopt;
    sum += *one;
  }
  return sum;
}

}  // namespace reprobench
