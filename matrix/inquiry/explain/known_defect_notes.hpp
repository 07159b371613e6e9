// Which defects that others have found already apply to the sides of a difference: rows of the facts whose versions are
// those that a side loaded. A note is a hint for whoever reads the diagnosis. No judgement rests on it.
#pragma once

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// Adds a note for each defect of numerics that applies to a side on its device and in its precision:
// "torch-2.9.0-cu128: known defect mkl-vml-first-call: ...". Nothing is added to an explanation that is rounding.
void note_known_defects(const ComparedSide& measured, const ComparedSide& expected, const CompatFacts& facts,
                        Explanation& explanation);

}  // namespace reprobench
