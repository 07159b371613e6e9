// How often a run of level `step` digests its whole state. The worker keeps this cadence, and it limits what is known
// of a difference that shows at such a step.
#pragma once

#include <algorithm>
#include <cstdint>

namespace reprobench {

inline constexpr std::int64_t kStateEvery = 50;  // and on the last step

inline bool digests_state(std::int64_t step) { return step % kStateEvery == 0; }

// For a difference that shows at `step`: the first step since the state was last seen equal.
inline std::int64_t first_step_unseen(std::int64_t step) { return (step - 1) / kStateEvery * kStateEvery + 1; }

}  // namespace reprobench
