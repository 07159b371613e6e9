// Whether a cell computed its reference's bits. It is decided once, here, for the first screen and for the reports.
#pragma once

#include <vector>

#include "matrix/numerics/steps/match.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// `equal` is said of every repeat of both sides, and of no cell whose numbers failed an armed check. `not_comparable`:
// a repeat of either did not complete, the two ran other workloads, or one of them cannot do an operation that the
// other did.
Match reference_bits(const CellVerdict& cell, const CellVerdict& reference);

// Sets `reference_bits` in every cell that ran and whose reference is among the cells.
void state_reference_bits(std::vector<CellVerdict>& cells);

}  // namespace reprobench
