// Tells the fake libnvidia-ml (suites/fake_nvml), which the coordinator watches, what a worker does to its GPU.
#pragma once

#include "suites/fake_worker/behaviour.hpp"

namespace reprobench {

// Called in the middle of the training: starts the device trouble that a behaviour names, and lets it last for a few
// readings.
void upset_gpu(const Behaviour& behaviour, const CellRequest& request);

// Called at the end of the training: ends the trouble that passes with the training.
void calm_gpu(const Behaviour& behaviour);

}  // namespace reprobench
