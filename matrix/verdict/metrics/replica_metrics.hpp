// Does every replica of one process (the knob `replicas`) compute with the weights that replica 0's optimizer made? The
// gradients that replicas make are held against another layout's (layout_metrics.hpp).
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Steps that some replica begins with other parameters than replica 0, and the state after the last step. Named is the
// first such step with its tensor, and the replica in the tensor's name. A parameter of which a replica has no record
// leaves the metric without a value.
Measurement differing_replicas(const CellEvidence& cell, const CellEvidence* unused);

}  // namespace reprobench
