// After how many repeats a cell is looked at. Where noise leaves a ratio to its reference open at one look, the cell
// and its reference are repeated up to the next: 7, 14 and 28 for `repeat: 7`, `max_repeat: 28`.
//
// Whoever measures until the answer suits finds one in the end. So the looks are planned, and each is asked with a
// confidence that leaves the error of all of them together at 5 % (Bonferroni; ci/adr/0038).
#pragma once

#include <cstddef>
#include <vector>

#include "matrix/plan/plan.hpp"

namespace reprobench {

// Ascending: `repeat`, twice as many and so on, the last `max_repeat`; never empty.
std::vector<int> planned_looks(const Cell& cell);

// The look that a cell is on its way to of which so many repeats were begun, 0 or more.
int look_after(const Cell& cell, int repeats_begun);

// Of each interval that is looked at, of so many looks; 95 % of one, or where none is planned.
double confidence_of_each(std::size_t looks);

}  // namespace reprobench
