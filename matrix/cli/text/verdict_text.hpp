// A verdict as text for the terminal: what failed, why, how to reproduce it, and the totals.
#pragma once

#include <string>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// That faults were planted, for the first line of whatever a drill prints; empty for any other run.
std::string drill_text(const std::vector<std::string>& planted);

// Of a drill its faults; `before`; every cell that failed or could not be decided with what to do next; what is over
// its bound and only recorded; gains; findings; then what a reader sees first at the end of a terminal: one line a
// dimension, the totals, the verdict. At most 80 columns, commands and folders excepted; `store` is the one that
// commands are to name.
std::string verdict_text(const RunVerdict& verdict, const std::string& run_folder, const Terminal& terminal,
                         const std::string& before = "", const std::string& store = "");

}  // namespace reprobench
