// A substitute for a checkpoint where nothing is trained: a few words about the state, in a file.
#pragma once

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "suites/fake_worker/behaviour.hpp"
#include "suites/fake_worker/synthetic_training.hpp"

namespace reprobench {

// Writes the checkpoint of the step that the training is at. Does nothing for a request without checkpoints.
void write_synthetic_checkpoint(const CellRequest& request, const SyntheticTraining& training, CellResult& result);

// Sets the training to the step of the request's checkpoint. Returns nothing for a request that begins at the start.
std::optional<ResumedFrom> resume_synthetic(const CellRequest& request, const Behaviour& behaviour,
                                            SyntheticTraining& training, CellResult& result);

}  // namespace reprobench
