// Location and spread that a few extreme samples cannot move. Step times on shared machines are heavy-tailed, so means
// and standard deviations would describe the neighbours.
#pragma once

#include <span>

namespace reprobench {

// The middle value; of an even number, the mean of the two middle ones. `samples` must not be empty.
double median(std::span<const double> samples);

// The nearest rank: of 100 samples the 99th for a share of 0.99. `samples` must not be empty, `share` is above 0.
double percentile(std::span<const double> samples, double share);

// Estimate of the standard deviation: 1.4826 times the median absolute deviation (consistent for a normal
// distribution).
double robust_sd(std::span<const double> samples);

}  // namespace reprobench
