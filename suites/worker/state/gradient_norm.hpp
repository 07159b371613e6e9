// The L2 norm over all gradients, and clipping by it. Squares are summed up in fp64 in one order whatever the layout.
// Each block of kBlockElements of a parameter has 16 sums of every 16th element, which are added in their order; then
// all blocks are added in the model's order. Ranks with sharded gradients (ZeRO 2) have whole blocks each, in that
// order. So they exchange the sums of blocks, and every rank adds up all of them. On a GPU, which has one rank,
// LibTorch adds up each gradient.
#pragma once

#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

class TrainState;

// The sum of squares of each block of a dense tensor on the CPU, in fp32 or fp64.
std::vector<double> block_squares(const at::Tensor& tensor);

// The norm if every rank has all gradients; for sharded ones it is ZeroShards::gradient_norm().
double gradient_norm(const TrainState& state);

// Clips like torch.nn.utils.clip_grad_norm_: multiplies every gradient by max_norm / (norm + 1e-6) if that is less than
// one. The results are new tensors, since a trace may still hold the old ones. Returns whether it clipped.
bool clip_gradients(TrainState& state, double norm, double max_norm);

}  // namespace reprobench
