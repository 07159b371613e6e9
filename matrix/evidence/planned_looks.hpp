// After how many repeats a cell is looked at. If noise leaves its ratio to the reference open at one look, both are
// repeated up to the next look: 7, 14 and 28 for `repeat: 7`, `max_repeat: 28`.
//
// Whoever measures until the answer suits finds one in the end. So the looks are planned, and each is asked with a
// confidence that leaves the error of all of them together at 5 % (Bonferroni; ci/adr/0038).
#pragma once

#include <cstddef>
#include <vector>

#include "matrix/plan/plan.hpp"

namespace reprobench {

// The looks in ascending order: `repeat`, twice as many and so on, up to `max_repeat`; never empty.
std::vector<int> planned_looks(const Cell& cell);

// The look that a cell is on its way to once `repeats_begun` of its repeats, 0 or more, have begun.
int look_after(const Cell& cell, int repeats_begun);

// The confidence of each interval if there are so many looks; 95 % for one look, or where none is planned.
double confidence_of_each(std::size_t looks);

}  // namespace reprobench
