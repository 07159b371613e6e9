// Steps behind the first difference. Both sides take each of them from the state that the expected side had before it,
// so that nothing that came before can hide what arises there: a defect that begins later, behind a difference that is
// rounding (matrix/numerics/diagnosis.md).
#pragma once

#include <cstdint>
#include <vector>

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// Behind it a training is not run again to take one step more.
inline constexpr std::int64_t kLastLaterStep = 1000;

// At most `most` of them, in their order: the last one that differs, the one at which distances leave their bound or
// else losses split, and the one half way.
std::vector<std::int64_t> later_steps(const CellComparison& comparison, int most);

// Adds what it finds to the explanation, and makes the diagnosis of the worst. One that a call by itself shows to
// be red stays as it is, and nothing more is looked for.
void judge_later_steps(const ComparedSide& measured, const ComparedSide& expected,
                       const std::vector<std::int64_t>& steps, Replays& replays, Explanation& explanation);

// Batches and updates that the traces show to differ behind `first`, without a replay.
std::vector<LaterStep> later_courses(const Trace& measured, const Trace& expected, std::int64_t first);

}  // namespace reprobench
