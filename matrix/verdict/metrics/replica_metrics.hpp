// Does every replica of one process (the knob `replicas`) compute with the weights that replica 0's optimizer made?
// Gradients of replicas are compared with those of another layout (layout_metrics.hpp).
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Steps that some replica begins with other parameters than replica 0, and the state after the last step. The first
// such step is named with its tensor, whose name has the replica. If a replica has no record of a parameter, there is
// no value.
Measurement differing_replicas(const CellEvidence& cell, const CellEvidence* unused);

}  // namespace reprobench
