// What a judged run leaves beside its record: verdict.json, junit.xml and its row of the index.
#pragma once

#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// Throws StoreError.
void write_verdict_files(const std::filesystem::path& run_folder, const RunVerdict& verdict);

// The run's files are whole without the index, so trouble with it is said and nothing more.
void index_verdict(const Project& project, const std::filesystem::path& run_folder, const RunVerdict& verdict,
                   const Terminal& terminal);

}  // namespace reprobench
