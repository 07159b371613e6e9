// Comparisons as text for the terminal.
#pragma once

#include <string>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/contract/exit_code.hpp"
#include "matrix/inquiry/comparison.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"

namespace reprobench {

std::string to_text(const CellComparison& comparison, const Terminal& terminal);
std::string to_text(const SnapshotComparison& comparison);

// What `compare` ends with where all it compared comes to this.
ExitCode exit_code_of(Match word);

}  // namespace reprobench
