#include "matrix/inquiry/replay_runner.hpp"

#include <fmt/format.h>

#include "matrix/contract/version.hpp"
#include "matrix/exec/interrupt.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/run_identity.hpp"
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

ReplayRunner::ReplayRunner(ReplayPlace place, Launcher& launcher, const Clock& clock)
    : place_(std::move(place)), launcher_(launcher), clock_(clock) {}

std::vector<ReplayOutcome> ReplayRunner::run_to_any_end(const std::vector<ReplayTask>& tasks) {
  Plan plan;
  plan.matrix = "replay";
  for (const ReplayTask& task : tasks) plan.cells.push_back(cell_of(task));
  plan.host = place_.host;
  RunInfo info;
  info.run_id = new_run_id();
  info.started_utc = utc_now("%Y-%m-%dT%H:%M:%SZ");
  info.reprobench_version = kProjectVersion;
  RunDirectory directory = RunDirectory::create(place_.store, place_.store / "replays" / info.run_id, info, plan);
  folders_.push_back(directory.folder());

  const InterruptHandler interrupts;
  ExecutionOptions options;
  options.jobs = place_.jobs;
  options.interrupt = &interrupts.count();
  const auto cells = execute(plan, place_.workers, launcher_, clock_, directory, options, {});
  directory.finish(info);
  if (interrupts.count() > 0) throw ReplayInterrupted(interrupts.was_terminated());

  std::vector<ReplayOutcome> outcomes;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].attempts.empty()) throw ReplayFailed(fmt::format("replay `{}` was not started", tasks[i].purpose));
    AttemptRecord attempt = cells[i].attempts.back();
    const std::filesystem::path folder = directory.folder() / attempt.lead().folder;
    if (!attempt.lead().trace && attempt.lead().result) {
      attempt.lead().trace = read_trace(folder / "trace.jsonl", plan.cells[i].cell.request.cell_id, attempt.nonce,
                                        first_step_of(tasks[i].request));
    }
    outcomes.push_back({folder, std::move(attempt)});
  }
  return outcomes;
}

void ReplayRunner::remove_latest() {
  std::error_code ignored;  // what is left behind is only disk space, under a name that says what it is
  if (folders_.empty()) return;
  std::filesystem::remove_all(folders_.back(), ignored);
  folders_.pop_back();
}

void ReplayRunner::remove_files() {
  while (!folders_.empty()) remove_latest();
}

}  // namespace reprobench
