// How much memory a training's state takes at this moment, and where, by what was allocated for it.
#pragma once

#include <cstdint>

#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// The bytes of the optimizer's state.
std::int64_t optimizer_state_bytes(const TrainState& state);

// The bytes of parameters, gradients and the optimizer's state. Memory that the training and the host's part shared
// would count for the device.
ModelStateBytes model_state_bytes(const TrainState& state);

}  // namespace reprobench
