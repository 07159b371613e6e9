// A training's speed as a share of the peak: counts its floating-point operations by the model's formula, and times the
// fastest matrix products of the same process. These use the training's arithmetic, its threads and its device.
#pragma once

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "suites/worker/training.hpp"

namespace reprobench {

// The operations of one step of all ranks. Micro-batches are counted one by one: a contrastive loss multiplies the
// samples of each with one another, so a batch in two halves costs less than a whole one. Blocks that are computed
// again do not count, by the convention. If the length of sequences changes with the step, there is only a reason.
ModelFlops model_flops_of(const Training& run);

// Times square products, larger and larger ones, until one would take longer than 20 ms or memory is short. Adds
// measurements `gemm` to trace and result, also for an unsupported type or a wrong product. Call it once the steps are
// over and the training's use of memory has been recorded.
void measure_gemm_peak(Training& run);

}  // namespace reprobench
