// Proof that two runs did the same work: equal on every stack for equal precision, or no number may be compared.
#pragma once

#include "kernels/digest/digest.hpp"
#include "matrix/contract/request.hpp"
#include "suites/worker/data/batch_source.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// The digest covers names, shapes, dtypes and initial bits of parameters and buffers, and which parameters are frozen
// and which decay. It covers the data, its fields, how it is cut into samples and the order they are seen in. It covers
// optimizer and learning rates, the knobs that change what this model computes, and the shape of the loop. Call it
// before the first step.
Digest workload_digest(const Model& model, const ModelPreset& preset, const WorkloadRequest& request,
                       const Settings& settings, const TrainState& state, BatchSource& batches);

}  // namespace reprobench
