// Does a training learn? Its loss at the end, how far the loss fell on the way, and how other seeds end.
//
// One step's loss is that of one batch, so the ends of a run are means: over the last tenth of its steps, at least
// five, and over as many first ones. 400 steps of mlp end at the mean of steps 361 to 400.
#pragma once

#include <cstddef>
#include <optional>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// How many steps an end of a run has; nothing for a run of fewer than ten, whose ends would meet.
std::optional<std::size_t> end_steps(std::size_t steps);

// "numerics.final_loss", that of the last step on the rank with the largest.
std::optional<double> final_loss(const AttemptRecord& attempt);

// "numerics.end_loss", that of the rank with the largest. A run that is too short or lacks a loss has no value.
Measurement end_loss(const AttemptRecord& attempt, const MeasurementSelection& of);

// "numerics.loss_fall_rel": the part of the first steps' loss that is gone in the last ones; negative where it rose.
// The rank with the smallest part counts. There is no value if the first loss is not above zero.
Measurement loss_fall_rel(const AttemptRecord& attempt, const MeasurementSelection& of);

// `seeds` has the first repeat of this cell and of each that differs from it in the seed alone.
//
// "numerics.alike_seeds": how many of them train the same as another one: equal work, or equal bits in all steps. If
// nobody reads the seed, any number of runs look like one that repeats itself.
Measurement alike_seeds(const CellEvidence& cell, const CellEvidence* seeds);

// "numerics.seed_spread_rel": the distance from the least to the largest of their end losses, as a share of the mean.
Measurement seed_spread_rel(const CellEvidence& cell, const CellEvidence* seeds);

// How far a training's weights have come from their initial values, as its worker measured it. At half the learning
// rate they come half as far, whatever the loss is. There is no value if the ranks do not agree.
Measurement weight_change_rel(const AttemptRecord& attempt, const MeasurementSelection& of);

}  // namespace reprobench
