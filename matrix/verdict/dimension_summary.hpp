// The first thing a reader wants after the verdict: each dimension of the candidates against their references, in one
// sentence with numbers. Counts and picks; judges nothing anew.
#pragma once

#include <vector>

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// One entry a dimension, in the order of the enumeration. Candidates are the stacks of required cells that have a
// reference; where none is required, all that have one. The word is that of every armed check of the run, so that no
// failure hides behind a candidate that is fine.
std::vector<DimensionSummary> dimension_summaries(const std::vector<CellVerdict>& cells);

}  // namespace reprobench
