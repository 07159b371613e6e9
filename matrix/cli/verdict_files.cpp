#include "matrix/cli/verdict_files.hpp"

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/report_process.hpp"
#include "matrix/record/result_index.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/verdict_seal.hpp"
#include "matrix/verdict/junit.hpp"

namespace reprobench {

void write_verdict_files(const std::filesystem::path& run_folder, const RunVerdict& verdict) {
  remove_reports(run_folder);
  write_file_atomically(run_folder / "junit.xml", to_junit(verdict));
  write_sealed_verdict(run_folder, to_json(verdict).dump(1) + "\n");
}

bool index_verdict(const Project& project, const std::filesystem::path& run_folder, const RunVerdict& verdict,
                   const Terminal& terminal) {
  std::string problem;
  try {
    ResultIndex(project.store()).add_run(run_folder, to_json(verdict.info), to_json(verdict));
    return true;
  } catch (const StoreError& error) {
    problem = error.what();
  } catch (const std::filesystem::filesystem_error& error) {
    problem = error.what();
  }
  terminal.error(fmt::format("store: {}\n", plain_line(problem)));
  return false;
}

ExitCode exit_code_of(const RunVerdict& verdict, bool is_indexed) {
  return is_indexed || verdict.exit_code == ExitCode::failed ? verdict.exit_code : ExitCode::store;
}

}  // namespace reprobench
