#include "matrix/cli/verdict_files.hpp"

#include <fmt/format.h>

#include "matrix/record/result_index.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/verdict_seal.hpp"
#include "matrix/verdict/junit.hpp"

namespace reprobench {

void write_verdict_files(const std::filesystem::path& run_folder, const RunVerdict& verdict) {
  write_file_atomically(run_folder / "junit.xml", to_junit(verdict));
  write_sealed_verdict(run_folder, to_json(verdict).dump(1) + "\n");
}

void index_verdict(const Project& project, const std::filesystem::path& run_folder, const RunVerdict& verdict,
                   const Terminal& terminal) {
  try {
    ResultIndex(project.store()).add_run(run_folder, to_json(verdict.info), to_json(verdict));
  } catch (const StoreError& error) {
    terminal.error(fmt::format("store: {}\n", error.what()));
  }
}

}  // namespace reprobench
