// Diagnoses the differences of a run while it still holds its folder, so that the answers go into its journal.
#pragma once

#include <map>
#include <string>

#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

// Diagnoses every cell that has other bits than its reference and that a check asks about, as long as `budget_s` lasts.
// Diagnoses go into the journal of `run` and into `record`, comparisons into comparisons.json for the report. An
// interrupt here stops the run. Throws StoreError.
void diagnose_run(const Project& project, const std::map<std::string, WorkerCommand>& workers, double budget_s,
                  const Terminal& terminal, RunDirectory& run, RunRecord& record);

}  // namespace reprobench
