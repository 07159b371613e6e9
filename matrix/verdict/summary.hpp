// From outcomes of cells to the verdict of a run: totals, word, exit code and the sentence people read first.
#pragma once

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// Fills totals, word, exit_code and sentence from `info` and `cells`.
void summarise(RunVerdict& verdict);

}  // namespace reprobench
