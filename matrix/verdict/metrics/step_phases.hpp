// Where the time of a step goes, and which of its phases moved between two stacks. If a step takes 0.8 ms more, its
// gradients may be computed more slowly, or its batches made more slowly. The phases that a worker marks tell which.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// The phases that either side has, in the order of a step; a training of one micro-batch on one rank has no
// communication. They are taken over the same steps and pairs of repeats as `throughput.step_time`. Medians of parts
// need not add up to the median of the whole.
std::vector<StepPhase> step_phases(const CellEvidence& cell, const CellEvidence* reference);

// "by phase: backward +2.103 ms (x1.210 [1.150, 1.280]); data, forward, optimizer within their noise". A phase has
// moved if the interval of its ratio leaves out 1, or if it has time on one side alone; the one that moved most comes
// first.
std::string moved_phases(const std::vector<StepPhase>& phases);

}  // namespace reprobench
