// Class B2: both sides and an fp64 run of the expected one take the same step from the same state, on many batches.
#pragma once

#include <filesystem>

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

struct JudgedSides {
  const ComparedSide& measured;
  const ComparedSide& expected;
  const ExplainSettings& settings;
};

// Whether a call of the step is proven to add in another order on the two sides. Their fingerprints may be alike: a
// release changed one operator. Then the errors of single batches are drawn apart.
bool has_proven_order(const Explanation& explanation);

// Judges from the state after step `state`, which is in the folder `states`, and from every other state that the
// settings ask for. Adds its findings to the explanation. Throws ReplayFailed.
void judge_steps(const JudgedSides& sides, const std::filesystem::path& states, std::int64_t state, Replays& replays,
                 Explanation& explanation);

// The gradients that replays with `hold_state` left in three attempt folders: those of the measured side, of the
// expected side, and of its fp64 run.
Lockstep judge_lockstep_files(const std::filesystem::path& measured, const std::filesystem::path& expected,
                              const std::filesystem::path& exact, const Replay& replay, const LockstepOptions& options);

}  // namespace reprobench
