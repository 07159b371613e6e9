// Gradient checkpointing (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"): only the inputs of a
// block are kept, and the backward pass computes the rest again when it gets there.
//
// The graph of the forward pass stays the same as without checkpointing; only the tensors that its nodes save are left
// out. So gradients are added up in the same order, also for a tensor that several blocks read, and a trace has the
// same nodes. An autograd::Function around a block would differentiate a graph of its own: the gradient of a tensor
// that blocks share would be summed up by block first, which rounds differently. The first node that asks for a saved
// tensor causes the block to be computed again. The tensors saved then are handed out in the same order.
#pragma once

#include <vector>

#include "models/model_spec.hpp"

namespace reprobench {

class TensorMakers;

// Returns `compute(inputs)`. `again` does the same in the backward pass, on whatever thread that runs. A recorded step
// has `makers` (otherwise null), which then name a recomputed tensor as the work of its call in the forward pass.
at::Tensor compute_and_forget(const std::vector<at::Tensor>& inputs, const BlockFunction& compute,
                              const BlockFunction& again, TensorMakers* makers);

}  // namespace reprobench
