// Steps behind the first difference. Both sides take each of them from the state that the expected side had before it,
// so earlier differences cannot hide one that arises there, such as a defect that begins later, behind a difference
// that is rounding (matrix/numerics/diagnosis.md).
#pragma once

#include <cstdint>
#include <vector>

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// No step behind this one is judged, since the training would have to run again up to it.
inline constexpr std::int64_t kLastLaterStep = 1000;

// The steps to judge, at most `most`, in their order: the last one that differs, the one at which distances leave their
// bound or else losses split, and the one half way.
std::vector<std::int64_t> later_steps(const CellComparison& comparison, int most);

// Adds its findings to the explanation, and makes the worst of them the diagnosis. If a call by itself already shows
// another computation or a defect, the diagnosis stays and nothing more is looked for.
void judge_later_steps(const ComparedSide& measured, const ComparedSide& expected,
                       const std::vector<std::int64_t>& steps, Replays& replays, Explanation& explanation);

// Batches and updates that the traces show to differ behind `first`, without a replay.
std::vector<LaterStep> later_courses(const Trace& measured, const Trace& expected, std::int64_t first);

}  // namespace reprobench
