// How well a training on several ranks uses them. Its speed is compared with one rank that does all of their work, or
// as much as each of them. Also the part of a step in which the ranks' gradients are added up.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Strong scaling: all ranks together do the work of a step that one rank does alone, ideally in an Nth of its time. The
// value is T(1) / (N T(N)) of each pair of repeats, by their median steps: 1 in the ideal case, 1/N if N ranks are no
// faster than one.
Measurement strong_scaling_efficiency(const CellEvidence& cell, const CellEvidence* alone);

// Weak scaling: each rank does as much as one rank alone, so a step ideally takes as long. The value is T(1) / T(N) of
// each pair of repeats: 1 in the ideal case, 1/N if the ranks might as well run one after the other.
Measurement weak_scaling_efficiency(const CellEvidence& cell, const CellEvidence* alone);

// Time of the phase `communication` as a share of the time of all steps that count, each as its slowest rank had it.
// The wait for the slowest rank is part of it. No value if no step has that phase.
std::optional<double> communication_share(const AttemptRecord& attempt);

// For a training with `overlap: on`: the share of a rank's time in exchanges, waits included, that lies before the end
// of its backward pass, over the steps that count. The rank with the smallest share counts.
Measurement overlap_share(const AttemptRecord& attempt, const MeasurementSelection& unused);

}  // namespace reprobench
