// The meaning of the words after `compare`: a run, one of its cells, a cell of the newest run, or a stack.
#pragma once

#include <map>
#include <string>

#include "matrix/cli/project.hpp"
#include "matrix/inquiry/compared_sides.hpp"

namespace reprobench {

// A word is RUN, RUN:CELL, or the slug, id or beginning of an id of a cell of the newest run, as `explain` takes it. An
// empty word is the newest run. Throws UsageError with the nearest of all names there are, UnfinishedRun as
// find_judged_run().
RunCells run_cells_named(const Project& project, const std::map<std::string, StackSpec>& stacks,
                         const std::string& word);

}  // namespace reprobench
