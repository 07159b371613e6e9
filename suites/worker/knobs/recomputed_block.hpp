// Gradient checkpointing (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"): of a block only what goes
// into it is kept, and the backward pass computes the rest again when it gets there.
//
// The graph of the forward pass stays the one it would be without; what is left out of it is the tensors that its nodes
// save. So gradients are added up in the same order, also of a tensor that several blocks read, and a trace has the
// same nodes. (An autograd::Function around a block would differentiate a graph of its own: what blocks share would be
// summed up by block first, which rounds otherwise.) The first node that asks for what it saved lets the block be
// computed again, and what is saved then, in the same order, is handed out.
#pragma once

#include <vector>

#include "models/model_spec.hpp"

namespace reprobench {

class TensorMakers;

// `compute(inputs)`. `again` does the same in the backward pass, on whatever thread that runs. Of a recorded step there
// are `makers` (otherwise null), which then know a tensor that is there again as the work of its call in the forward
// pass.
at::Tensor compute_and_forget(const std::vector<at::Tensor>& inputs, const BlockFunction& compute,
                              const BlockFunction& again, TensorMakers* makers);

}  // namespace reprobench
