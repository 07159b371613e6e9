// A check that failed in a stored run, asked again of the same cell on another stack.
//
// The cell is run with all that the check holds it against, and nothing else. Cells on its own stack move to the other
// stack with it; a reference on another stack stays where it is, so that the bound means on each stack what it meant in
// the run. A reference that stays is set apart from the cell, which may come to the reference's own stack.
#pragma once

#include <string>
#include <vector>

#include "matrix/inquiry/bisect/bisect_search.hpp"
#include "matrix/inquiry/bisect/seen_check.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

struct CheckedCell {
  AskedCheck asked;
  std::string stack;               // that the cell ran on
  std::vector<PlannedCell> cells;  // the cell first; each has the check's threshold or none
  bool is_of_images = false;       // the stacks of that run were images
};

// `check`: a metric, or "METRIC of MEASUREMENT" if the cell has several checks of it. Throws UsageError for a check
// that is unknown, not armed, did not fail or is meant in two ways, and for cells that cannot be asked again here.
CheckedCell checked_cell(const RunVerdict& verdict, const Plan& plan, const CellVerdict& cell,
                         const std::string& check);

// Puts the references that stay on this stack. It is for a run of images, whose names of stacks may be others' by now.
void hold_against(CheckedCell& checked, const std::string& stack);

// The stacks that stay, whatever stack the cell is on.
std::vector<std::string> fixed_stacks(const CheckedCell& checked);

// Everything that an observation depends on, but for stacks and machine.
std::string question_of(const CheckedCell& checked);

// The cells with the first one on `stack`. They are to be resolved: none is skipped and none has a note.
std::vector<PlannedCell> cells_on(const CheckedCell& checked, const std::string& stack);

// The state of a stack on which this was observed. Only the same check, failing for the same reason, is as the bad end,
// and only a cell that passed is as the good one. `is_of_components`: hybrids may load the reference's very libraries.
PointAnswer answer_of(const CheckedCell& checked, const CheckObservation& observation, bool is_of_components);

}  // namespace reprobench
