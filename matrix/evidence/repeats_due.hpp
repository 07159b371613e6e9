// How many repeats of a cell must be there before it can be judged.
#pragma once

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// `repeat`, or the look that the cell was on its way to when the last of its attempts began: a run that ends half-way
// between two looks leaves the cell unfinished, however well what is there would suit. Attempts behind `max_repeat`,
// and negative ones, do not count.
int repeats_due(const Cell& cell, const CellRecord& record);

}  // namespace reprobench
