// How many repeats of a cell must be there before it can be judged.
#pragma once

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// This is `repeat`, or the next look at the time when the last of the cell's attempts began. So a run that ends between
// two looks leaves the cell unfinished, however good its repeats look. Attempts beyond `max_repeat`, and negative ones,
// do not count.
int repeats_due(const Cell& cell, const CellRecord& record);

}  // namespace reprobench
