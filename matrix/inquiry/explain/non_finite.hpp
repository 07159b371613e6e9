// A run whose loss stopped being finite, replayed: which operator made the first NaN or infinity, and of what inputs.
#pragma once

#include <optional>
#include <string>

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// The step in which an attempt's loss stopped being finite; nothing if it did not.
std::optional<std::int64_t> non_finite_step(const AttemptRecord& attempt);

// `other` is the side that it is compared with. It shows the usual values if `side` failed in its first step.
//
// One sentence: "aten::addmm in the forward of `fc1`, call 3 of step 12, made 32 values that are not finite out of
// finite inputs: input 0 in [-0.1, 3.4e+38], ..." Throws ReplayFailed.
std::string non_finite_sentence(const ComparedSide& side, const ComparedSide& other, std::int64_t step,
                                Replays& replays);

}  // namespace reprobench
