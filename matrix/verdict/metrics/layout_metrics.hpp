// Metrics over a training on several ranks, from the digests of every tensor: do all ranks hold the same after each
// reduction, and has the layout the bits of one rank that does all the micro-batches alone?
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Steps in which the ranks of a repeat hold different parameters, gradients after the reduction, optimizer state or
// loss. The rank that diverges from the most others is named, with the first step and tensor.
Measurement differing_ranks_of_training(const CellEvidence& cell, const CellEvidence* unused);

// Steps in which some rank's tensor, or replica 0's, is not that of `alone`, the same training on one rank. Named is
// the first in the order in which a step computes: what a rank had of its own, be it a batch, an activation or its part
// of a gradient, before what it got from others. So a difference is followed through the reduction to the rank that
// sent it. Running statistics are each rank's own and left out.
Measurement differing_from_one_rank(const CellEvidence& cell, const CellEvidence* alone);

// Bytes of optimizer state on the rank with most, as a share of what one rank keeps alone and times the number of
// ranks: 1 where the ranks share it out evenly (ZeRO), N where each of N has all of it.
Measurement optimizer_state_share(const CellEvidence& cell, const CellEvidence* alone);

// The most that parameters, gradients and optimizer state took on the rank with most, as a share of what they take on
// one rank alone: 1 where each rank has all of it, and with ZeRO 3 one of N ranks plus the parameters of one operator.
Measurement model_state_share(const CellEvidence& cell, const CellEvidence* alone);

}  // namespace reprobench
