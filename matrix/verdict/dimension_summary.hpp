// The first thing a reader wants after the verdict: each dimension of the candidates against their references, in one
// sentence with numbers. It counts and picks, and judges nothing anew.
#pragma once

#include <vector>

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// One entry for each dimension, in the order of the enumeration. Candidates are the stacks of required cells that have
// a reference or, if none is required, of all cells that have one. The word covers every armed check of the run, so
// that no failure hides behind a candidate that is fine.
std::vector<DimensionSummary> dimension_summaries(const std::vector<CellVerdict>& cells);

}  // namespace reprobench
