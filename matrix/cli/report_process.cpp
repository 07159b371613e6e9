#include "matrix/cli/report_process.hpp"

#include <fmt/format.h>

#include "matrix/exec/python.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const auto begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? -1 : begin));
}

// As reports/reprobench_report/__main__.py writes them.
constexpr const char* kReports[] = {"report.html", "summary.md", "checks.csv", "measurements.csv", "phases.csv"};

}  // namespace

ReportOutcome write_reports(const Project& project, const std::filesystem::path& run_folder,
                            const std::filesystem::path& to) {
  const std::string python = find_python_with("jinja2");
  if (python.empty()) return {"", "no python3 with jinja2 was found; install python3-jinja2, then `reprobench report`"};
  SubprocessOptions options =
      isolated_python(python, {project.root() / "reports", std::filesystem::absolute(run_folder).string()});
  if (!to.empty()) options.command.insert(options.command.end(), {"--out", std::filesystem::absolute(to).string()});
  (*options.environment)["REPROBENCH_SCHEMAS"] = project.schemas().string();
  options.shepherd = project.shepherd();
  const SubprocessResult result = run_subprocess(options);
  if (result.exit_code != 0) {
    return {"", fmt::format("the report generator ended with {}: {}", result.exit_code, last_line(result.err))};
  }
  return {result.out, ""};
}

void remove_reports(const std::filesystem::path& run_folder) {
  for (const char* name : kReports) {
    const std::filesystem::path file = run_folder / "report" / name;
    std::error_code error;
    std::filesystem::remove(file, error);
    if (error) throw StoreError(fmt::format("cannot remove {}: {}", file.string(), error.message()));
  }
}

}  // namespace reprobench
