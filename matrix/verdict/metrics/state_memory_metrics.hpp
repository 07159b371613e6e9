// Metrics over the memory of a training's parameters, gradients and optimizer state: do its ranks hold what their
// settings declare, and no more? The amount to hold is taken, tensor by tensor, from the record of the same training on
// one rank without offload. It is not taken from the ranks under test.
//
//   P, G, S   parameters, gradients, optimizer state of the whole model (Rajbhandari et al. 2020, ZeRO, section 3)
//   C         copies of the trained parameters on the host, which `offload: optimizer` updates
//   N         ranks;  L  parameters and gradients of the largest module, whole;  B  a rank's share is cut at blocks
//
//   R         replicas of the model in one process, each with parameters and gradients of its own (zero_stage 0 alone)
//
//   zero_stage  on the device and on the host together
//   0           R (P + G) + S + C
//   1           P + G + (S + C)/N + B
//   2           P + G + (G + S + C)/N + B
//   3           (P + G + S + C)/N + B + L, and G where a rank adds up micro-batches of its own
//
// With offload gradients of at most one module are on their way through the host, so L is allowed in every stage. On
// the device alone S and C are not allowed, nor with `offload: optimizer_and_param` the parameters' share, nor L
// below 3.
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// The peak of the fullest rank, on device and host together, as a share of the amount that its settings declare.
Measurement model_state_bound_share(const CellEvidence& cell, const CellEvidence* alone);

// The same for memory on the device that trains. Without offload that is all of it.
Measurement device_state_bound_share(const CellEvidence& cell, const CellEvidence* alone);

}  // namespace reprobench
