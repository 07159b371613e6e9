#include <memory>

#include <CLI/CLI.hpp>

#include "matrix/cli/report_process.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/cli/verdict_files.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/record/abandoned_files.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/verdict_seal.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

// A run of somebody else, named by its folder, is reported and not taken in. A store that cannot be looked at is no
// other store: that throws.
bool is_of_store(const std::filesystem::path& folder, const std::filesystem::path& store) {
  return std::filesystem::exists(store / "runs") && std::filesystem::equivalent(folder.parent_path(), store / "runs");
}

// Pages of evidence that changed would go on saying what was judged of it. A store that is only read keeps them.
void withdraw_reports(const std::filesystem::path& run_folder) {
  try {
    remove_reports(run_folder);
  } catch (const StoreError&) {
  }
}

}  // namespace

std::function<ExitCode()> declare_report(CLI::App& app, Context& context) {
  struct Options {
    std::string run;
    std::string to;
    bool rejudge = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "Run id or directory; default: the newest of the store")->type_name("RUN");
  app.add_option("--to", options->to, "Folder to write into, instead of the run's own: of a store that is only read")
      ->type_name("DIR");
  app.add_flag("--rejudge", options->rejudge,
               "Judge the run's files again with this build first (writes verdict.json and junit.xml), and end with "
               "that verdict");
  app.footer(app.get_footer() +
             "\nHere: where the run has its verdict already and --rejudge is not given, 0 says that the reports were "
             "written,\nand nothing of the run.");
  return [options, &context] {
    const Project project(context.store);
    const auto folder = find_run(project.store(), options->run);
    context.terminal.error(passed_over(project.store(), options->run));
    require_not_held(folder, folder.filename().string());  // its verdict is the running process's to write
    for (const std::filesystem::path& written : {folder, folder / "report"}) remove_abandoned_files(written);
    ExitCode judged = ExitCode::passed;  // only to write reports says nothing of the run
    bool is_indexed = true;
    try {
      // One that changed vouches for nothing, and stays beside that which takes its place.
      if (options->rejudge && !broken_verdict(folder).empty()) {
        std::filesystem::rename(folder / "verdict.json", folder / "verdict.json.changed");
      }
      if (options->rejudge || !std::filesystem::exists(folder / "verdict.json")) {
        const RunVerdict verdict = judge(load_run(folder.string()));
        write_verdict_files(folder, verdict);
        judged = verdict.exit_code;
        if (is_of_store(folder, project.store())) {
          is_indexed = index_verdict(project, folder, verdict, context.terminal);
        }
      } else if (const auto changed = changed_since_judged(folder.string()); !changed.empty()) {
        throw StoreError(changed.front() + "; `report --rejudge` judges what there is");
      }
    } catch (const StoreError&) {
      withdraw_reports(folder);
      throw;
    }
    const ReportOutcome report = write_reports(project, folder, options->to);
    if (!report.problem.empty()) throw StoreError(report.problem);
    context.terminal.out(report.paths);
    return is_indexed ? judged : ExitCode::store;
  };
}

}  // namespace reprobench
