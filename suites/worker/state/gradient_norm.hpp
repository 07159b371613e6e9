// The L2 norm over all gradients, and clipping by it. Squares are summed up in fp64 in one order whatever the layout:
// blocks of kBlockElements of a parameter, of each 16 sums of every 16th element, these in their order, then all blocks
// in the model's order. Ranks that share gradients out (ZeRO 2) have whole blocks each, in that order, so they exchange
// the sums of blocks and every one adds up all of them. On a GPU, which has one rank, LibTorch adds up each gradient.
#pragma once

#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

class TrainState;

// Of a dense tensor on the CPU, fp32 or fp64: one sum of squares a block.
std::vector<double> block_squares(const at::Tensor& tensor);

// Where every rank has all gradients; of shared ones it is ZeroShards::gradient_norm().
double gradient_norm(const TrainState& state);

// As torch.nn.utils.clip_grad_norm_: every gradient times max_norm / (norm + 1e-6) where that is less than one. Into
// new tensors: a trace may still hold the old ones. Returns whether it was.
bool clip_gradients(TrainState& state, double norm, double max_norm);

}  // namespace reprobench
