// How well a training on several ranks uses them: its speed beside one rank's that does all of their work, or as much
// as each of them, and what part of a step its gradients take to become one.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Strong scaling: all ranks together do the work of a step that one rank does alone, and would ideally take an Nth of
// its time. T(1) / (N T(N)) of each pair of repeats, by their median steps: 1 where they do, 1/N where they are no
// faster than one.
Measurement strong_scaling_efficiency(const CellEvidence& cell, const CellEvidence* alone);

// Weak scaling: each rank does as much as the one that is alone, so a step would ideally take as long. T(1) / T(N) of
// each pair of repeats: 1 where it does, 1/N where the ranks might as well go one after the other.
Measurement weak_scaling_efficiency(const CellEvidence& cell, const CellEvidence* alone);

// Time of the phase `communication` as a share of the time of all steps that count, each as its slowest rank had it.
// The wait for the slowest rank is part of it. Nothing where no step has that phase.
std::optional<double> communication_share(const AttemptRecord& attempt);

// Of a training with `overlap: on`: of the time in which a rank exchanged gradients, in the steps that count, the share
// before the end of its backward pass, waits for other ranks included; of the rank with the least.
Measurement overlap_share(const AttemptRecord& attempt, const MeasurementSelection& unused);

}  // namespace reprobench
