// Comparisons as text for the terminal.
#pragma once

#include <string>

#include "matrix/cli/terminal.hpp"
#include "matrix/inquiry/comparison.hpp"
#include "matrix/verdict/snapshot_comparison.hpp"

namespace reprobench {

std::string to_text(const CellComparison& comparison, const Terminal& terminal);
std::string to_text(const SnapshotComparison& comparison);

}  // namespace reprobench
