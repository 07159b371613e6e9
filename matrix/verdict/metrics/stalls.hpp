// Stalls that a mean is made of: a mean says that a training is slower, and not that a few of its steps are.
#pragma once

#include <string>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// The steps after warm-up, in all repeats, that took more than three times their median: how many, how much longer, and
// how far apart if at least half of them are equally far apart. Empty if there is none.
std::string stalls_text(const CellEvidence& cell);

}  // namespace reprobench
