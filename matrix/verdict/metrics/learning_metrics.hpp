// Does a training learn? What its loss comes to, how far it fell on the way, and what other seeds come to.
//
// One step's loss is that of one batch, so the ends of a run are means: over the last tenth of its steps, at least
// five, and over as many first ones. 400 steps of mlp end at the mean of steps 361 to 400.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// How many steps an end of a run has; nothing for a run of fewer than ten, whose ends would meet.
std::optional<std::size_t> end_steps(std::size_t steps);

// "numerics.end_loss": of the rank with the largest. No value of a run that is too short or lacks a loss.
Measurement end_loss(const AttemptRecord& attempt, const MeasurementSelection& of);

// "numerics.loss_fall_rel": the part of the first steps' loss that is gone in the last ones; negative where it rose. Of
// the rank where least is gone. No value where the first loss is not above zero.
Measurement loss_fall_rel(const AttemptRecord& attempt, const MeasurementSelection& of);

// `seeds` has the first repeat of this cell and of each that differs from it in the seed alone.
//
// "numerics.alike_seeds": how many of them train what another one does: equal work, or equal bits of all steps. A seed
// that nobody reads makes any number of runs look like one that repeats itself.
Measurement alike_seeds(const CellEvidence& cell, const CellEvidence* seeds);

// "numerics.seed_spread_rel": from the least to the largest of their end losses, as a share of the mean.
Measurement seed_spread_rel(const CellEvidence& cell, const CellEvidence* seeds);

// How far a training's weights have come from where they began, as its worker measured it; a rate that is half of what
// it should be leaves half of the way, whatever the loss has come to. No value where the ranks do not agree.
Measurement weight_change_rel(const AttemptRecord& attempt, const MeasurementSelection& of);

}  // namespace reprobench
