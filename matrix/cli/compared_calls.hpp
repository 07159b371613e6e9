// What `compare` finds in the runs it is given: cells that trained, cells that made operator calls, or both.
#pragma once

#include <optional>

#include "matrix/inquiry/compared_sides.hpp"
#include "matrix/verdict/atlas/operator_atlas.hpp"

namespace reprobench {

struct ComparedParts {
  StoredPairs trainings;
  bool has_trainings = true;             // in question; else `trainings` is empty
  std::optional<OperatorAtlas> calls{};  // nothing: none are in question
};

// Compares every cell of one run with its reference. Throws UsageError if no cells form a pair, and StoreError.
ComparedParts parts_within_run(const RunCells& cells);

// Compares every cell of one run with its partner in the other. Throws as above, and for a cell that a run does not
// have.
ComparedParts parts_of_runs(const RunCells& measured, const RunCells& expected);

}  // namespace reprobench
