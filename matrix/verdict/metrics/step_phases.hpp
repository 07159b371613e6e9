// Where the time of a step goes, and which of its phases moved between two stacks. A step that takes 0.8 ms more may
// have its gradients computed more slowly or its batches made more slowly; the phases that a worker marks tell.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Those phases of which either side has any, in the order of a step: a training of one micro-batch on one rank has no
// communication. Over the same steps and pairs of repeats as `throughput.step_time`; medians of parts need not add up
// to the median of the whole.
std::vector<StepPhase> step_phases(const CellEvidence& cell, const CellEvidence* reference);

// "by phase: backward +2.103 ms (x1.210 [1.150, 1.280]); data, forward, optimizer within their noise". A phase has
// moved if the interval of its ratio leaves out 1, or if it has time on one side alone; the one that moved most comes
// first.
std::string moved_phases(const std::vector<StepPhase>& phases);

}  // namespace reprobench
