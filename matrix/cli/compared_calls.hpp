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

// Of one run every cell against its reference. Throws UsageError if nothing pairs up, StoreError.
ComparedParts parts_within_run(const RunCells& cells);

// Of two runs every cell against its partner. Throws as the other; also for a cell that a run does not have.
ComparedParts parts_of_runs(const RunCells& measured, const RunCells& expected);

}  // namespace reprobench
