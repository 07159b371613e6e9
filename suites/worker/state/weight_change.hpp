// How far a training's weights have moved from their initial values.
#pragma once

#include <cstdint>
#include <optional>

#include "models/model_spec.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// L2 distance of all trained parameters from their initial values, as a share of the L2 norm of these, in fp64. Initial
// values are drawn once more, one parameter at a time, so no memory is kept for them during the training. The weights
// must have begun as drawn from `seed`. Nothing where no rank has whole parameters, or where the norm is 0.
std::optional<double> weight_change_rel(const Model& model, const ModelPreset& preset, std::uint64_t seed,
                                        const TrainState& state);

}  // namespace reprobench
