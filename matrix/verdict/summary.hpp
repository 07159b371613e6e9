// From outcomes of cells to the verdict of a run: totals, word, exit code and the sentence people read first.
#pragma once

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// Fills totals, dimensions, word, exit_code and sentence from `info`, `request`, `planted` and `cells`. "Qualified" is
// said only of a whole matrix that was run as it is written, for the classes of devices on which a check held.
void summarise(RunVerdict& verdict);

}  // namespace reprobench
