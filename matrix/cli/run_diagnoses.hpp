// What the differences of a run are, found out while the run still holds its folder: the answers go into its journal.
#pragma once

#include <map>
#include <string>

#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

// Every cell whose bits are not its reference's and that a check asks about, while `budget_s` last. What is found goes
// into the journal of `run` and into `record`, and the comparisons into comparisons.json for the report. Whoever stops
// it has stopped the run. Throws StoreError.
void diagnose_run(const Project& project, const std::map<std::string, WorkerCommand>& workers, double budget_s,
                  const Terminal& terminal, RunDirectory& run, RunRecord& record);

}  // namespace reprobench
