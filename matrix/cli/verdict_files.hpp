// The files that a judged run adds to its record: verdict.json, junit.xml and its row in the index.
#pragma once

#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// Throws StoreError.
void write_verdict_files(const std::filesystem::path& run_folder, const RunVerdict& verdict);

// Adds the run to the index. The run's files are whole without it, so trouble with it is reported and stops nothing;
// false then.
[[nodiscard]] bool index_verdict(const Project& project, const std::filesystem::path& run_folder,
                                 const RunVerdict& verdict, const Terminal& terminal);

// That of the verdict; but a run that is not in the index has not passed for whoever reads the index, so it is `store`
// then, except for a failed run, whose code wins.
ExitCode exit_code_of(const RunVerdict& verdict, bool is_indexed);

}  // namespace reprobench
