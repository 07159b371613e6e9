// Stalls that a mean is made of: a mean says that a training is slower, and not that a few of its steps are.
#pragma once

#include <string>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Of all repeats the steps after warm-up that took more than three times their median: how many, how much longer, and
// how far apart where at least half of them lie as far apart. Empty: none did.
std::string stalls_text(const CellEvidence& cell);

}  // namespace reprobench
