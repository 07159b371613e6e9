// A verdict as text for the terminal: what failed, why, how to reproduce it, and the totals.
#pragma once

#include <string>

#include "matrix/cli/terminal.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// Every cell that failed or could not be decided with its reproduce line, gains, skipped cells by reason, summary,
// sentence.
std::string verdict_text(const RunVerdict& verdict, const std::string& run_folder, const Terminal& terminal);

}  // namespace reprobench
