// How much memory a training's state takes at this moment, by what was allocated for it, and where.
#pragma once

#include <cstdint>

#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// Of what the optimizer keeps.
std::int64_t optimizer_state_bytes(const TrainState& state);

// Of parameters, gradients and the optimizer's state. Memory that what trains and what the host keeps had in common
// would count for the device.
ModelStateBytes model_state_bytes(const TrainState& state);

}  // namespace reprobench
