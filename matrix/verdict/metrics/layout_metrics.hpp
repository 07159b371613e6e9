// Metrics over a training on several ranks, from the digests of every tensor: do all ranks hold the same after each
// reduction, and does the layout have the bits of one rank that does all the micro-batches alone?
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Steps in which the ranks of a repeat hold different parameters, gradients after the reduction, optimizer state or
// loss. The rank that diverges from the most others is named, with the first step and tensor.
Measurement differing_ranks_of_training(const CellEvidence& cell, const CellEvidence* unused);

// Steps in which some rank's tensor, or replica 0's, is not that of `alone`, the same training on one rank. The first
// such tensor in the order of computation is named. A rank's own values (a batch, an activation, its part of a
// gradient) come before those that it got from others. So a difference is followed through the reduction to the rank
// that sent it. Running statistics are each rank's own and left out.
Measurement differing_from_one_rank(const CellEvidence& cell, const CellEvidence* alone);

// Bytes of optimizer state on the fullest rank, as a share of those that one rank keeps alone, times the number of
// ranks: 1 where the ranks share it out evenly (ZeRO), N where each of N has all of it.
Measurement optimizer_state_share(const CellEvidence& cell, const CellEvidence* alone);

// The peak of parameters, gradients and optimizer state on the fullest rank, as a share of their peak on one rank
// alone. It is 1 where each rank has all of it; with ZeRO 3 it is 1/N plus the parameters of one operator.
Measurement model_state_share(const CellEvidence& cell, const CellEvidence* alone);

}  // namespace reprobench
