// Time and memory of two stored cells side by side.
#pragma once

#include <vector>

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// For every bound of the measured cell on a regression: the ratio of all its repeats to all of the expected cell's, or
// why there is none. The ratio is judged as by that bound, but decides nothing. Empty unless both are cells of stored
// runs that completed. Reads the traces of all repeats; throws StoreError for one that is not whole.
std::vector<CellRatio> cell_ratios(const ComparedSide& measured, const ComparedSide& expected);

}  // namespace reprobench
