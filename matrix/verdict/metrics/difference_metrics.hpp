// How far the numbers of two trainings are apart: in how many steps their bits differ, what that difference was found
// to be, and the distance of their losses and gradients.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Steps whose digests differ, and the state after the last: between repeats of one cell, from the reference, and from
// the same cell on another host. They name the repeat and the first divergence.
Measurement repeat_mismatches(const CellEvidence& cell, const CellEvidence* unused);
Measurement reference_mismatches(const CellEvidence& cell, const CellEvidence* reference);
Measurement host_mismatches(const CellEvidence& cell, const CellEvidence* other);

// 0 for equal bits and for rounding, 1 for another computation or a defect, by the cell's diagnosis. A difference that
// nobody diagnosed has no value, with the reason `undiagnosed`.
Measurement beyond_rounding(const CellEvidence& cell, const CellEvidence* reference);

// Operations for which a library took another algorithm than on the reference; nothing between classes of device.
Measurement changed_algorithms(const CellEvidence& cell, const CellEvidence* reference);

// Relative L2 distances of the first step's gradients: of all together, and the largest of one parameter's, which the
// finding names. One tensor that is wrong can be some millionths of all gradients' length.
Measurement first_gradient_rel(const CellEvidence& cell, const CellEvidence* reference);
Measurement first_gradient_tensor_rel(const CellEvidence& cell, const CellEvidence* reference);

// The largest relative distance of a step's loss.
Measurement loss_rel(const CellEvidence& cell, const CellEvidence* reference);

// The larger distance of the first step's loss and gradients from the same training on the CPU. Before the first update
// both hold the same weights, so this far rounding alone takes them apart.
Measurement first_step_to_cpu_rel(const CellEvidence& cell, const CellEvidence* on_cpu);

}  // namespace reprobench
