#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/cli/bisect_hint.hpp"
#include "matrix/cli/early_judge.hpp"
#include "matrix/cli/host_memory.hpp"
#include "matrix/cli/image_stacks.hpp"
#include "matrix/cli/report_process.hpp"
#include "matrix/cli/run_diagnoses.hpp"
#include "matrix/cli/suite_digests.hpp"
#include "matrix/cli/text/learning_curves.hpp"
#include "matrix/cli/text/plan_text.hpp"
#include "matrix/cli/text/progress.hpp"
#include "matrix/cli/text/verdict_text.hpp"
#include "matrix/cli/untrusted_run.hpp"
#include "matrix/cli/verbs/run_options.hpp"
#include "matrix/cli/verdict_files.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/exec/gpu/gpu_telemetry.hpp"
#include "matrix/exec/interrupt.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/exec/ranks/joined_launcher.hpp"
#include "matrix/exec/ranks/outer_launcher.hpp"
#include "matrix/exec/ranks/rank_meeting.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/record/run_identity.hpp"
#include "matrix/verdict/cell_families.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

const std::map<std::string, OuterLauncher> kOuterLaunchers = {
    {"any", OuterLauncher::either}, {"torchrun", OuterLauncher::torchrun}, {"slurm", OuterLauncher::slurm}};

std::chrono::milliseconds patience(const RunOptions& options) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(options.join_wait_s * 1e3));
}

// Shows the cells that fail now, whose attempts did not show it already; gives their ids.
std::vector<std::string> report_failed(EarlyJudge& judge, const CellRecord& ended, RunProgress& progress) {
  std::vector<std::string> ids;
  for (const CellVerdict& cell : judge.cell_ended(ended)) {
    const bool is_shown = std::any_of(cell.attempts.begin(), cell.attempts.end(), [](const AttemptSummary& attempt) {
      return attempt.end != AttemptEnd::completed;
    });
    if (!is_shown) progress.check_failed(cell);
    ids.push_back(cell.cell_id);
  }
  return ids;
}

std::vector<std::string> report_open(EarlyJudge& judge, const std::vector<const CellRecord*>& compared,
                                     RunProgress& progress) {
  std::vector<std::string> ids;
  for (const CellVerdict& cell : judge.open_for_noise(compared)) {
    progress.left_open(cell);
    ids.push_back(cell.cell_id);
  }
  return ids;
}

std::set<std::string> asked_suites(const Plan& plan) {
  std::set<std::string> suites;
  for (const PlannedCell& planned : plan.cells) suites.insert(planned.cell.request.suite);
  return suites;
}

std::map<std::string, std::string> digests_of_asked_suites(const Plan& plan, const Project& project) {
  const std::set<std::string> asked = asked_suites(plan);
  std::map<std::string, std::string> digests = suite_digests(project.suites());
  std::erase_if(digests, [&](const auto& suite) { return !asked.contains(suite.first); });
  return digests;
}

void keep_inputs(RunDirectory& run, const Project& project, const SelectedPlan& selected,
                 const std::map<std::string, RunImage>& images) {
  run.keep_input("matrix.yaml", selected.matrix_text);
  for (const auto& [stack, image] : images) run.keep_input("inspection-" + stack + ".json", image.inspection);
  for (const auto& [name, spec] : project.stacks()) {
    if (selected.plan.declared.count(name) > 0) run.keep_input("stack-" + name + ".yaml", spec.text);
  }
  const std::set<std::string> suites = asked_suites(selected.plan);
  for (const auto& [name, suite] : project.suites()) {
    if (suites.contains(name)) run.keep_input("suite-" + name + ".yaml", read_file(suite.mark.file));
  }
}

// Every cell that is to run has as many ranks as the outer launcher started processes, or is one that such a cell is
// compared with: the same on one rank, which the first of those processes runs.
void require_ranks(const Plan& plan, int ranks) {
  const CellFamilies families(plan);
  std::set<std::string_view> compared;
  for (const PlannedCell& planned : plan.cells) {
    if (planned.skip || planned.cell.request.world_size != ranks) continue;
    for (const PlannedCell* other : families.compared_with(planned.cell)) {
      compared.insert(other->cell.request.cell_id);
      if (other->cell.reference_cell_id) compared.insert(*other->cell.reference_cell_id);
    }
  }
  for (const PlannedCell& planned : plan.cells) {
    const CellRequest& request = planned.cell.request;
    const bool is_compared = request.world_size == 1 && compared.contains(request.cell_id);
    if (planned.skip || request.world_size == ranks || is_compared) continue;
    throw UsageError(
        fmt::format("--join: {} has world_size {}, and the outer launcher started {} ranks; choose cells "
                    "with --cell or --filter (what they are compared with runs too)",
                    planned.cell.slug, request.world_size, ranks));
  }
}

// They would have to run at the same time, and attempts of an outer launcher run one after the other.
void leave_out_turns(Plan& plan) {
  for (PlannedCell& planned : plan.cells) planned.cell.request.turn_steps = 0;
}

// Each process of an outer launcher would make an enclosure of its own, with a network that is no other rank's.
void require_no_enclosure(const std::map<std::string, WorkerCommand>& workers) {
  for (const auto& [stack, worker] : workers) {
    if (worker.enclosure) throw UsageError(fmt::format("--join: {} runs inside an image or --untrusted", stack));
  }
}

// Before the first of them is asked anything.
void keep_untrusted_apart(const Plan& plan, const UntrustedPolicy& policy,
                          std::map<std::string, WorkerCommand>& workers, const Project& project) {
  require_modest(plan, policy);
  require_own_stacks(stacks_to_run(plan), project);
  require_free_disk(project);
  require_enclosure(project);
  enclose_workers(workers, project, policy);
}

// `meeting`: of the ranks that an outer launcher started; null: we start them.
ExitCode run_ranks(const RunOptions& options, Context& context, RankMeeting* meeting, const MeetingPoint& point) {
  const Terminal& terminal = context.terminal;
  const Project project(context.store);
  const UntrustedPolicy policy = untrusted_policy(options.policy, options.selection.matrix);
  SelectedPlan selected = make_plan(project, options.selection);
  const auto given = given_workers(options.workers);
  require_known_stacks(given, project);
  if (options.dry_run) {
    auto workers = installed_worker_commands(stacks_to_run(selected.plan), project, given);
    if (options.untrusted) keep_untrusted_apart(selected.plan, policy, workers, project);
    terminal.log(fit_into_host_memory(selected.plan, workers).note);
    terminal.log(not_installed_note(selected.plan, workers));
    if (options.json) {
      write_plan(selected.plan, [&](std::string_view part) { terminal.out_part(part); });
    } else {
      plan_table(selected.plan, terminal, [&](std::string_view part) { terminal.out(part); });
    }
    return ExitCode::passed;
  }
  // Another worker than the one its stack was qualified with: the run says so and gives no verdict on the matrix.
  PlanRequest& request = selected.plan.request;
  for (const auto& [stack, worker] : given) request.changed_by.push_back("--worker " + stack);
  for (const std::string& worker : options.workers) request.overrides.push_back("--worker " + shell_word(worker));
  auto workers = worker_commands(stacks_to_run(selected.plan), project, given);
  if (options.untrusted) {
    request.overrides.emplace_back("--untrusted");
    if (!options.policy.empty()) request.overrides.push_back("--policy " + shell_word(options.policy));
    keep_untrusted_apart(selected.plan, policy, workers, project);
  }
  for (const auto& [stack, image] : options.images) selected.plan.images.emplace(stack, image.planned);
  if (!options.images.empty()) {
    require_pair_of_images(selected.plan);
    selected.plan.suites = digests_of_asked_suites(selected.plan, project);
  }
  selected.plan.installed = installed_libraries(stacks_to_run(selected.plan), project);
  const HostMemory memory = fit_into_host_memory(selected.plan, workers);
  if (meeting != nullptr) {
    require_no_enclosure(workers);
    require_ranks(selected.plan, meeting->ranks());
    leave_out_turns(selected.plan);
    meeting->gather(patience(options));
  }

  RunInfo info;
  info.run_id = new_run_id();
  info.matrix_digest = sha256_of_text(selected.matrix_text);
  info.command_line = context.command_line;
  info.started_utc = utc_now("%Y-%m-%dT%H:%M:%SZ");
  info.reprobench_version = kProjectVersion;
  info.program_sha256 = sha256_of_file("/proc/self/exe");
  RunDirectory run = RunDirectory::create(
      project.store(), options.out.empty() ? std::nullopt : std::optional<std::filesystem::path>(options.out), info,
      selected.plan);
  keep_inputs(run, project, selected, options.images);
  terminal.log(drill_text(planted_faults(selected.plan)));
  terminal.log(fmt::format("{}; run {}\n", plan_summary(selected.plan), info.run_id) + preset_note(selected) +
               memory.note);

  const InterruptHandler interrupts;
  ExecutionOptions execution = options.execution;
  execution.interrupt = &interrupts.count();
  execution.available_bytes = memory.available_bytes;
  if (options.untrusted) {
    execution.disk = untrusted_disk(policy);
    execution.launch_within = policy.run;
  }
  NvmlTelemetry telemetry;
  execution.telemetry = &telemetry;
  execution.meeting = point;
  execution.read_anew = read_anew;
  const auto recorded =
      terminal.has_status_line() ? recorded_durations(project.store(), selected.plan) : AttemptDurations{};
  RunProgress progress(selected.plan, recorded, terminal);
  LocalLauncher local(project.shepherd());
  std::optional<JoinedLauncher> joined;
  if (meeting != nullptr) joined.emplace(local, *meeting);
  Launcher& launcher = joined ? static_cast<Launcher&>(*joined) : local;
  const MonotonicClock clock;
  const auto started = clock.now();
  RunRecord record{info, selected.plan, {}, run.folder()};
  EarlyJudge early_judge(selected.plan, run.folder().string());
  ExecutionObserver observer = progress.observer();
  LearningCurves curves(run.folder(), info.started_utc);
  if (!options.no_report) {
    observer.attempt_ended = [&, told = observer.attempt_ended](const Cell& cell, const AttemptRecord& attempt) {
      told(cell, attempt);
      curves.write(cell, attempt);
    };
  }
  observer.failed_by_checks = [&](const CellRecord& ended) { return report_failed(early_judge, ended, progress); };
  observer.open_for_noise = [&](const std::vector<const CellRecord*>& compared) {
    return report_open(early_judge, compared, progress);
  };
  record.cells = execute(selected.plan, workers, launcher, clock, run, execution, observer);
  terminal.status("");
  double diagnose_for_s = options.diagnose_for_s;
  if (options.untrusted) {
    const auto left = std::chrono::duration<double>(policy.run - (clock.now() - started)).count();
    if (left <= 0) terminal.log("--untrusted: the time of this run is over; nothing more was launched\n");
    diagnose_for_s = std::clamp(left, 0.0, diagnose_for_s);
  }

  record.info.interrupted = interrupts.count() > 0;
  record.info.terminated = interrupts.was_terminated();
  if (!record.info.interrupted && meeting == nullptr) {
    diagnose_run(project, workers, diagnose_for_s, terminal, run, record);
  }
  if (options.changed_images && !record.info.interrupted) record.info.changed_images = options.changed_images();
  record.info.duration_ns = (clock.now() - started).count();
  record.info.ended_utc = utc_now("%Y-%m-%dT%H:%M:%SZ");
  record.seal = run.finish(record.info);
  const RunVerdict verdict = judge(record);
  write_verdict_files(run.folder(), verdict);
  const bool is_indexed = index_verdict(project, run.folder(), verdict, terminal);

  if (options.json) {
    terminal.out_document(to_json(verdict));
  } else {
    terminal.out(verdict_text(verdict, run.folder(), terminal,
                              terminal.paint(skipped_by_reason(selected.plan), Style::dim), context.store));
  }
  if (!options.no_report) {
    if (!curves.problem().empty()) terminal.error(fmt::format("report: {}\n", curves.problem()));
    const ReportOutcome report = write_reports(project, run.folder());
    if (!report.problem.empty()) terminal.error(fmt::format("report: {}\n", report.problem));
    terminal.log(report.paths);
  }
  if (meeting == nullptr) terminal.log(bisect_hint(project, verdict, selected.plan));
  terminal.log(fmt::format("run {}\n", run.folder().string()));
  return exit_code_of(verdict, is_indexed);
}

// This process is one of the ranks of an outer launcher: the first runs and judges, the others do what it asks. All of
// them leave with the exit code of the run.
ExitCode run_joined(const RunOptions& options, Context& context) {
  const OuterRank outer =
      outer_rank(kOuterLaunchers.at(options.join), [](const char* name) { return std::getenv(name); });
  if (options.execution.jobs > 1) throw UsageError("--join: attempts run one after the other; leave out --jobs");
  if (outer.rank > 0) {
    const Project project(context.store);
    const InterruptHandler interrupts;
    LocalLauncher own(project.shepherd());
    const ServedEnd end = serve_rank(outer, own, patience(options), interrupts.count());
    if (!end.why.empty()) context.terminal.error(fmt::format("reprobench: rank {}: {}\n", outer.rank, end.why));
    return end.code;
  }
  RankMeeting meeting(outer);
  const auto refuse = [&](ExitCode code, const std::exception& error) { meeting.finish(code, error.what()); };
  try {
    const ExitCode code = run_ranks(options, context, &meeting, outer.meeting);
    meeting.finish(code, "");
    return code;
  } catch (const SpecError& error) {
    refuse(ExitCode::usage, error);
    throw;
  } catch (const UsageError& error) {
    refuse(ExitCode::usage, error);
    throw;
  } catch (const std::exception& error) {
    refuse(ExitCode::store, error);
    throw;
  }
}

}  // namespace

ExitCode run_matrix(const RunOptions& options, Context& context) { return run_ranks(options, context, nullptr, {}); }

void add_run_options(CLI::App& app, RunOptions& options) {
  app.add_option("-j,--jobs", options.execution.jobs, "Cells at a time; cells whose timings count always run alone")
      ->check(CLI::Range(1, 1024))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)  // after ci/quickstart.sh's own
      ->capture_default_str();
  app.add_option("--out", options.out, "Run directory, instead of a new one in the store")->type_name("DIR");
  app.add_flag("--no-report", options.no_report, "Leave report.html, summary.md and checks.csv to `reprobench report`");
  app.add_option("--diagnose-for", options.diagnose_for_s,
                 "Seconds for finding out whether differences of bits are rounding; what is left then stays undecided")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_flag("--json", options.json, "The verdict as one JSON document (schema: verdict)");
}

std::function<ExitCode()> declare_run(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  add_selection_options(app, options->selection);
  add_run_options(app, *options);
  app.add_option("--fail-fast", options->execution.fail_fast, "Launch nothing more after this many cells in trouble")
      ->expected(0, 1)
      ->default_str("1")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--worker", options->workers, "Run a stack's cells with this command instead of its installed worker")
      ->type_name("STACK=COMMAND");
  app.add_flag(
         "--untrusted", options->untrusted,
         "For a matrix of somebody else: workers have no network, see this host's libraries, their stack and their "
         "data alone, and write to their attempt; on CPUs, within bounds of cells, repeats, time and disk")
      ->excludes("--trust");
  app.add_option("--policy", options->policy,
                 "What such a matrix may ask for: stacks, workloads, bounds (`schema policy`); a file outside its "
                 "checkout")
      ->type_name("FILE")
      ->needs("--untrusted");
  app.add_flag("--dry-run", options->dry_run, "Show the plan, with --json as a document, and launch nothing");
  app.add_option("--join", options->join,
                 "Run the ranks as the processes that torchrun or srun started, which all run this command")
      ->expected(0, 1)
      ->default_str("any")
      ->type_name("LAUNCHER")
      ->check(one_of_names({"any", "torchrun", "slurm"}));
  app.add_option("--join-wait", options->join_wait_s, "How many seconds ranks wait for each other to come")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  return [options, &context] {
    return options->join.empty() ? run_matrix(*options, context) : run_joined(*options, context);
  };
}

}  // namespace reprobench
