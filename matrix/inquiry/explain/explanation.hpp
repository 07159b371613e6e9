// The replays behind `compare --explain`.
#pragma once

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// `first` is where the traces diverge. Throws ReplayFailed.
Explanation explain_difference(const ComparedSide& measured, const ComparedSide& expected, const Divergence& first,
                               const std::vector<SideDifference>& differences, const ExplainSettings& settings,
                               Replays& replays);

}  // namespace reprobench
