// What a training's speed is a share of: its floating-point operations by the model's formula, and the fastest matrix
// products that the same process does in the training's arithmetic, with its threads, on its device.
#pragma once

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "suites/worker/training.hpp"

namespace reprobench {

// Of a step of all ranks. Micro-batches are counted one by one: a contrastive loss multiplies the samples of each with
// one another, so a batch in two halves costs less than a whole one. Blocks that are computed again do not count, by
// the convention. Nothing but a reason where the length of sequences changes with the step.
ModelFlops model_flops_of(const Training& run);

// Times square products, larger and larger ones, until one would take longer than 20 ms or memory is short; to be
// called once the steps are over. Adds measurements `gemm` to trace and result, which an unsupported type or a wrong
// product has too. What the training's memory came to must have been noted before.
void measure_gemm_peak(Training& run);

}  // namespace reprobench
