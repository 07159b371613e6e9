// What a worker does to its GPU, told to the fake libnvidia-ml (suites/fake_nvml), which the coordinator watches.
#pragma once

#include "suites/fake_worker/behaviour.hpp"

namespace reprobench {

// In the middle of the training: the device trouble a behaviour names happens, and lasts for a few readings.
void upset_gpu(const Behaviour& behaviour, const CellRequest& request);

// At the end of the training: what passes, passes.
void calm_gpu(const Behaviour& behaviour);

}  // namespace reprobench
