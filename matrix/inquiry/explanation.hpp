// The replays behind `compare --explain`.
#pragma once

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// `first` is where the traces part. Throws ReplayFailed.
Explanation explain_difference(const ComparedSide& measured, const ComparedSide& expected, const Divergence& first,
                               const std::vector<SideDifference>& differences, const ExplainSettings& settings,
                               Replays& replays);

// The gradients that replays with `hold_state` left in three attempt folders: of the measured side, the expected one
// and its fp64 run.
Lockstep judge_lockstep_files(const std::filesystem::path& measured, const std::filesystem::path& expected,
                              const std::filesystem::path& exact, const Replay& replay, const LockstepOptions& options);

}  // namespace reprobench
