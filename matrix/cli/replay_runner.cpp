#include "matrix/cli/replay_runner.hpp"

#include <fmt/format.h>

#include "matrix/cli/interrupt.hpp"
#include "matrix/cli/run_identity.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {
namespace {

PlannedCell cell_of(const ReplayTask& task) {
  PlannedCell planned;
  Cell& cell = planned.cell;
  cell.request = task.request;
  cell.request.suite = "replay-" + task.purpose;
  cell.request.cell_id = cell_id_of(cell.request);
  cell.slug = task.purpose;
  if (task.request.inject) cell.injections[0] = *task.request.inject;
  return planned;
}

}  // namespace

void require_completed(const ReplayTask& task, const ReplayOutcome& outcome) {
  const AttemptRecord& attempt = outcome.attempt;
  if (attempt.end == AttemptEnd::completed) return;
  throw ReplayFailed(fmt::format("replay `{}` on {} ended as {}: {}; logs {}", task.purpose, task.request.stack,
                                 to_string(attempt.end), attempt.detail, outcome.folder.string()));
}

ReplayRunner::ReplayRunner(const Project& project, std::map<std::string, WorkerCommand> workers,
                           const Terminal& terminal)
    : project_(project), workers_(std::move(workers)), terminal_(terminal) {}

std::vector<ReplayOutcome> ReplayRunner::run(const std::vector<ReplayTask>& tasks, int jobs) {
  auto outcomes = run_to_any_end(tasks, jobs);
  for (std::size_t i = 0; i < outcomes.size(); ++i) require_completed(tasks[i], outcomes[i]);
  return outcomes;
}

std::vector<ReplayOutcome> ReplayRunner::run_to_any_end(const std::vector<ReplayTask>& tasks, int jobs) {
  Plan plan;
  plan.matrix = "replay";
  for (const ReplayTask& task : tasks) plan.cells.push_back(cell_of(task));
  plan.host = detect_host();
  RunInfo info;
  info.run_id = new_run_id();
  info.started_utc = utc_now("%Y-%m-%dT%H:%M:%SZ");
  info.reprobench_version = kProjectVersion;
  RunDirectory directory =
      RunDirectory::create(project_.store(), project_.store() / "replays" / info.run_id, info, plan);
  folders_.push_back(directory.folder());

  const InterruptHandler interrupts;
  LocalLauncher launcher(project_.shepherd());
  const MonotonicClock clock;
  ExecutionOptions options;
  options.jobs = jobs;
  options.interrupt = &interrupts.count();
  const auto cells = execute(plan, workers_, launcher, clock, directory, options, {});
  directory.finish(info);

  std::vector<ReplayOutcome> outcomes;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].attempts.empty()) throw ReplayFailed(fmt::format("replay `{}` was not started", tasks[i].purpose));
    AttemptRecord attempt = cells[i].attempts.back();
    const std::filesystem::path folder = directory.folder() / attempt.folder;
    if (!attempt.trace && attempt.result) {
      attempt.trace = read_trace(folder / "trace.jsonl", plan.cells[i].cell.request.cell_id, attempt.nonce,
                                 first_step_of(tasks[i].request));
    }
    outcomes.push_back({folder, std::move(attempt)});
  }
  return outcomes;
}

void ReplayRunner::remove_latest() {
  std::error_code ignored;
  if (folders_.empty()) return;
  std::filesystem::remove_all(folders_.back(), ignored);
  folders_.pop_back();
}

void ReplayRunner::remove_files() {
  std::error_code ignored;  // what is left behind is only disk space, under a name that says what it is
  for (const auto& folder : folders_) std::filesystem::remove_all(folder, ignored);
  folders_.clear();
}

}  // namespace reprobench
