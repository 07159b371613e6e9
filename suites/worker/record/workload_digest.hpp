// Proof that two runs did the same work: equal on every stack for equal precision, or no number may be compared.
#pragma once

#include "kernels/digest/digest.hpp"
#include "matrix/contract/request.hpp"
#include "suites/worker/data/batch_source.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// Covers names, shapes, dtypes and initial bits of parameters and buffers, which parameters are frozen and which decay,
// the data, its fields, how it is cut into samples and the order they are seen in, optimizer and learning rates, the
// knobs that change what this model computes and the shape of the loop. Call before the
// first step.
Digest workload_digest(const Model& model, const ModelPreset& preset, const WorkloadRequest& request,
                       const Settings& settings, const TrainState& state, BatchSource& batches);

}  // namespace reprobench
