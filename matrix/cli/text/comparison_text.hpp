// Comparisons as text for the terminal.
#pragma once

#include <map>
#include <string>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/contract/exit_code.hpp"
#include "matrix/inquiry/comparison.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"

namespace reprobench {

std::string to_text(const CellComparison& comparison, const Terminal& terminal);

// Shows pairs of cells one after the other. Two stacks differ in the same libraries in every cell, so the first pair
// lists them and the others point to it.
class PairsText {
 public:
  std::string next(const CellComparison& comparison, const Terminal& terminal);

 private:
  std::map<std::string, std::string> first_with_;  // the measured cell, by all that changed
};
std::string to_text(const SnapshotComparison& comparison);

// The exit code of `compare` for this result of all its comparisons.
ExitCode exit_code_of(Match word);

}  // namespace reprobench
