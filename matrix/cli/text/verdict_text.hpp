// A verdict as text for the terminal: what failed, why, how to reproduce it, and the totals.
#pragma once

#include <string>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// The first line of everything that a drill prints: that faults were planted. Empty for any other run.
std::string drill_text(const std::vector<std::string>& planted);

// The text has, in this order: the faults of a drill; `before`; every cell that failed or could not be decided, with
// the next step; values that are over their bound and only recorded; gains; findings. At the end of a terminal a reader
// sees first a line for each dimension, the totals and the verdict. Lines have at most 80 columns, except for commands
// and folders. `store` is the store that commands name.
std::string verdict_text(const RunVerdict& verdict, const std::string& run_folder, const Terminal& terminal,
                         const std::string& before = "", const std::string& store = "");

}  // namespace reprobench
