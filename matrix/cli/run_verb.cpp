#include <iterator>
#include <memory>
#include <random>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <time.h>

#include "matrix/cli/interrupt.hpp"
#include "matrix/cli/plan_text.hpp"
#include "matrix/cli/progress.hpp"
#include "matrix/cli/report_process.hpp"
#include "matrix/cli/selection.hpp"
#include "matrix/cli/verb.hpp"
#include "matrix/cli/verdict_text.hpp"
#include "matrix/contract/number.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/record/result_index.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/junit.hpp"

namespace reprobench {
namespace {

struct RunOptions {
  SelectionOptions selection;
  ExecutionOptions execution;
  std::vector<std::string> workers;  // STACK=COMMAND
  std::string out;
  bool dry_run = false;
  bool json = false;
  bool no_report = false;
};

std::string utc_now(const char* format) {
  const time_t now = time(nullptr);
  tm broken_down{};
  gmtime_r(&now, &broken_down);
  char text[32];
  strftime(text, sizeof text, format, &broken_down);
  return text;
}

// Sortable by time for people; the random tail keeps two runs of one second apart.
std::string new_run_id() {
  std::random_device entropy;
  return "r-" + utc_now("%Y%m%d-%H%M%S") + "-" + hex32(entropy()).substr(0, 4);
}

// "torch-2.9.0-cu128=/path/worker --flag": the worker and what follows `run REQUEST` on its command line.
std::map<std::string, WorkerCommand> given_workers(const std::vector<std::string>& options) {
  std::map<std::string, WorkerCommand> workers;
  for (const std::string& option : options) {
    const auto equals = option.find('=');
    std::istringstream words(equals == std::string::npos ? "" : option.substr(equals + 1));
    const std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
    if (command.empty()) throw UsageError("--worker takes STACK=COMMAND, got " + option);
    WorkerCommand& worker = workers[option.substr(0, equals)];
    worker.command = {std::filesystem::absolute(command.front())};
    worker.arguments.assign(command.begin() + 1, command.end());
  }
  return workers;
}

// How each stack's cells are started. Throws UsageError naming every stack that is not installed.
std::map<std::string, WorkerCommand> worker_commands(const Plan& plan, const Project& project,
                                                     std::map<std::string, WorkerCommand> workers) {
  const StackStore store = project.stack_store();
  const auto specs = project.stacks();
  std::string missing;
  for (const PlannedCell& planned : plan.cells) {
    const std::string& name = planned.cell.request.stack;
    if (planned.skip || workers.count(name) > 0) continue;
    const InstalledStack stack = store.find(specs.at(name));
    if (!stack.complete || stack.worker.empty()) missing += " " + name;
    WorkerCommand& worker = workers[name];
    worker.command = {stack.worker};
    worker.arguments = {"--data", project.data()};
    worker.environment = store.environment(stack);
  }
  if (!missing.empty()) {
    throw UsageError(
        fmt::format("not installed, or not built for these worker sources:{0}\n"
                    "            run: reprobench stack install{0}",
                    missing));
  }
  return workers;
}

void keep_inputs(RunDirectory& run, const Project& project, const SelectedPlan& selected) {
  run.keep_input("matrix.yaml", selected.matrix_text);
  for (const auto& [name, spec] : project.stacks()) {
    if (selected.plan.declared.count(name) > 0) run.keep_input("stack-" + name + ".yaml", spec.text);
  }
}

void write_verdict(const RunDirectory& run, const RunVerdict& verdict, const Project& project,
                   const Terminal& terminal) {
  const nlohmann::json document = to_json(verdict);
  write_file_atomically(run.folder() / "junit.xml", to_junit(verdict));
  write_file_atomically(run.folder() / "verdict.json", document.dump(1) + "\n");
  try {
    ResultIndex(project.store()).add_run(run.folder(), to_json(verdict.info), document);
  } catch (const StoreError& error) {
    // The run's files are whole; only the index over them is behind.
    terminal.error(fmt::format("store: {}\n", error.what()));
  }
}

ExitCode run_matrix(const RunOptions& options, Context& context) {
  const Terminal& terminal = context.terminal;
  const Project project(context.store);
  const SelectedPlan selected = make_plan(project, options.selection);
  if (options.dry_run) {
    terminal.out(plan_table(selected.plan, terminal));
    return ExitCode::passed;
  }
  const auto workers = worker_commands(selected.plan, project, given_workers(options.workers));

  RunInfo info;
  info.run_id = new_run_id();
  info.matrix_digest = sha256_of_text(selected.matrix_text);
  info.command_line = context.command_line;
  info.started_utc = utc_now("%Y-%m-%dT%H:%M:%SZ");
  info.reprobench_version = kProjectVersion;
  RunDirectory run = RunDirectory::create(
      project.store(), options.out.empty() ? std::nullopt : std::optional<std::filesystem::path>(options.out), info,
      selected.plan);
  keep_inputs(run, project, selected);
  terminal.log(fmt::format("{}; run {}\n", plan_headline(selected.plan), info.run_id));

  const InterruptHandler interrupts;
  ExecutionOptions execution = options.execution;
  execution.interrupt = &interrupts.count();
  RunProgress progress(selected.plan, terminal);
  LocalLauncher launcher(project.shepherd());
  const MonotonicClock clock;
  const auto started = clock.now();
  RunRecord record{info, selected.plan, {}, run.folder()};
  record.cells = execute(selected.plan, workers, launcher, clock, run, execution, progress.observer());
  terminal.status("");

  record.info.duration_ns = (clock.now() - started).count();
  record.info.ended_utc = utc_now("%Y-%m-%dT%H:%M:%SZ");
  record.info.interrupted = interrupts.count() > 0;
  run.finish(record.info);
  const RunVerdict verdict = judge(record);
  write_verdict(run, verdict, project, terminal);

  if (options.json) {
    terminal.out(to_json(verdict).dump(1) + "\n");
  } else {
    terminal.out(terminal.paint(skipped_by_reason(selected.plan), Style::dim) +
                 verdict_text(verdict, run.folder(), terminal));
  }
  if (!options.no_report) {
    const ReportOutcome report = write_reports(project, run.folder());
    if (!report.problem.empty()) terminal.error(fmt::format("report: {}\n", report.problem));
    terminal.log(report.paths);
  }
  terminal.log(fmt::format("run {}\n", run.folder().string()));
  if (interrupts.count() > 0) return interrupts.was_terminated() ? ExitCode::terminated : ExitCode::interrupted;
  return verdict.exit_code;
}

}  // namespace

std::function<ExitCode()> declare_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  add_selection_options(app, options->selection);
  app.add_option("-j,--jobs", options->execution.jobs, "Cells at a time; cells whose timings count always run alone")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--fail-fast", options->execution.fail_fast, "Launch nothing more after this many cells in trouble")
      ->expected(0, 1)
      ->default_str("1")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--worker", options->workers, "Run a stack's cells with this command instead of its installed worker")
      ->type_name("STACK=COMMAND");
  app.add_option("--out", options->out, "Run directory, instead of a new one in the store")->type_name("DIR");
  app.add_flag("--dry-run", options->dry_run, "Show the plan and launch nothing");
  app.add_flag("--no-report", options->no_report,
               "Leave report.html, summary.md and checks.csv to `reprobench report`");
  app.add_flag("--json", options->json, "The verdict as one JSON document (schema: verdict)");
  return [options, &context] { return run_matrix(*options, context); };
}

}  // namespace reprobench
