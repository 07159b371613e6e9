// The report generator, which is Python and only reads files.
#pragma once

#include <filesystem>
#include <string>

#include "matrix/cli/project.hpp"

namespace reprobench {

struct ReportOutcome {
  std::string paths;    // what it wrote, one path a line
  std::string problem;  // empty unless it could not be made
};

// `to`: the folder they are written into; empty: RUN/report.
ReportOutcome write_reports(const Project& project, const std::filesystem::path& run_folder,
                            const std::filesystem::path& to = {});

// Those of an earlier verdict, which would outlive it where the generator then fails. Throws StoreError.
void remove_reports(const std::filesystem::path& run_folder);

}  // namespace reprobench
