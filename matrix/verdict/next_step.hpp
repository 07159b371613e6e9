// What to do about a cell that did not pass: one command or one sentence.
#pragma once

#include <string>

#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// Empty for a cell that passed, was recorded or was left out on purpose.
std::string next_step(const CellVerdict& cell, const std::string& run_id);

}  // namespace reprobench
