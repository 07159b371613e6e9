// One measurement of a cell from those of its repeats, each of which is held against the same other side.
#pragma once

#include <cmath>
#include <utility>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// The largest, where lower is better. A process that went wrong is not made good by another, and neither is one without
// a number. Whether the other side repeats itself is asked of its own cell.
template <class Of>
Measurement worst_of_repeats(const CellEvidence& cell, Of of) {
  Measurement worst;
  for (const AttemptRecord& repeat : cell.repeats) {
    Measurement one = of(repeat);
    if (!one.value || std::isnan(*one.value)) return one;
    if (!worst.value || *one.value > *worst.value) worst = std::move(one);
  }
  return worst;
}

}  // namespace reprobench
