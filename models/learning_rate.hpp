// The learning rate of a step. It is computed in IEEE operations alone, which every C library and compiler rounds
// alike, since it is part of the bits of a run.
#pragma once

#include <cstdint>

#include "models/optimizer_settings.hpp"

namespace reprobench {

// The rate of `step`, 1-based, in a run of `steps` steps. During a warm-up of w steps it is base * step / w; at the
// last step it is base * final_share. A run that is shorter than its warm-up never leaves it.
double learning_rate(const OptimizerSettings& optimizer, const RateSchedule& schedule, std::int64_t step,
                     std::int64_t steps);

// cos(pi x) for 0 <= x <= 1, within 4e-16.
double cosine_of_half_turns(double x);

}  // namespace reprobench
