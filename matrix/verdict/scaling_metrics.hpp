// How well a training on several ranks uses them: its speed beside one rank's that does all the micro-batches, and what
// part of a step its gradients take to become one.
#pragma once

#include "matrix/verdict/metrics.hpp"

namespace reprobench {

// Strong scaling: the work of a step is the same in every layout, so N ranks would ideally take an Nth of one rank's
// time. T(1) / (N T(N)), medians of the repeats' medians: 1 where they do, 1/N where they are no faster than one.
Measurement scaling_efficiency(const CellEvidence& cell, const CellEvidence* alone);

// Time of the phase `communication` as a share of the time of all steps that count, each as its slowest rank had it.
// The wait for the slowest rank is part of it. Nothing where no step has that phase.
std::optional<double> communication_share(const AttemptRecord& attempt);

}  // namespace reprobench
