// Location and spread that a few wild samples cannot move. Step times on shared machines are heavy-tailed: means and
// standard deviations describe the neighbours.
#pragma once

#include <span>

namespace reprobench {

// The middle value; of an even number, the mean of the two middle ones. `samples` must not be empty.
double median(std::span<const double> samples);

// Estimate of the standard deviation: 1.4826 times the median absolute deviation (consistent for a normal
// distribution).
double robust_sd(std::span<const double> samples);

}  // namespace reprobench
