#include "matrix/inquiry/replay_runner.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/contract/version.hpp"
#include "matrix/exec/interrupt.hpp"
#include "matrix/exec/memory_question.hpp"
#include "matrix/plan/memory_fit.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/run_identity.hpp"
#include "matrix/record/trace_reader.hpp"
#include "matrix/spec/files/own_files.hpp"

namespace reprobench {
namespace {

// One step with every operator call or tensor on record may write gigabytes between two lines of the trace, and a
// judgement trains dozens of batches in fp64.
constexpr TimeLimits kReplayLimits{std::chrono::minutes(5), std::chrono::minutes(10), std::chrono::hours(4),
                                   std::chrono::seconds(10)};

PlannedCell cell_of(const ReplayTask& task) {
  PlannedCell planned;
  Cell& cell = planned.cell;
  cell.request = task.request;
  cell.request.turn_steps = 0;  // nobody times it
  cell.request.suite = "replay-" + task.purpose;
  cell.request.cell_id = cell_id_of(cell.request);
  cell.slug = task.purpose;
  cell.limits = kReplayLimits;
  cell.poison_last_repeat = task.request.poison_allocator;
  if (task.request.inject) cell.injections[0] = *task.request.inject;
  return planned;
}

// A replay in fp64, or with tensors or operator calls on record, was seen to take up to twice what the same training
// took.
constexpr std::int64_t kReplayOverTraining = 2;

// What is large; logs, traces and results stay.
void remove_tensors(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::vector<std::filesystem::path> tensors;
  for (std::filesystem::recursive_directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (entry->path().extension() == ".safetensors") tensors.push_back(entry->path());
  }
  for (const std::filesystem::path& path : tensors) std::filesystem::remove(path, ignored);
}

std::string workload_of(const ReplayTask& task) { return to_json(task.request.workload).dump(); }

}  // namespace

ReplayRunner::ReplayRunner(ReplayPlace place, Launcher& launcher, const Clock& clock)
    : place_(std::move(place)), launcher_(launcher), clock_(clock) {}

ReplayRunner::~ReplayRunner() {
  if (!place_.keeps_files) remove_files();
}

// An answer costs a process with LibTorch in it, a quarter of a second, and a comparison replays the same training
// often.
const AttemptMemory& ReplayRunner::need_of(const ReplayTask& task) {
  const auto [known, is_new] = needs_.try_emplace(to_json(memory_question(task.request)).dump());
  if (is_new) known->second = place_.predict(task.request, place_.workers.at(task.request.stack));
  return known->second;
}

// Of each task. One that does not fit even alone is not started: the kernel would kill it, or another process.
std::vector<AttemptMemory> ReplayRunner::needs_of(const std::vector<ReplayTask>& tasks) {
  std::vector<AttemptMemory> needs(tasks.size());
  if (!place_.predict) return needs;
  const std::int64_t available_bytes = place_.available_bytes();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    needs[i] = need_of(tasks[i]);
    Diagnostics refused;
    report_refused_weights(tasks[i].request.workload, needs[i].weights_problems, "", refused);
    refused.throw_if_any();
    if (const auto reason = misfit(needs[i], available_bytes)) {
      throw ReplayFailed(fmt::format("{}/{} with batches of {} {}", tasks[i].request.workload.model,
                                     tasks[i].request.workload.preset, tasks[i].request.workload.batch_size, *reason));
    }
  }
  return needs;
}

// What is known of their need, against what there is. Of a workload that has not run yet only its state is known: two
// that fit by that may still be too much together.
bool ReplayRunner::fit_at_once(const std::vector<ReplayTask>& tasks, const std::vector<AttemptMemory>& needs) const {
  std::int64_t needed_bytes = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto seen = peak_bytes_.find(workload_of(tasks[i]));
    needed_bytes += std::max(
        {tasks[i].state_bytes, needs[i].total(), seen == peak_bytes_.end() ? 0 : kReplayOverTraining * seen->second});
  }
  return needed_bytes <= place_.available_bytes();
}

std::vector<ReplayOutcome> ReplayRunner::run_to_any_end(const std::vector<ReplayTask>& tasks) {
  const std::vector<AttemptMemory> needs = needs_of(tasks);
  Plan plan;
  plan.matrix = "replay";
  for (const ReplayTask& task : tasks) plan.cells.push_back(cell_of(task));
  plan.host = place_.host;
  RunInfo info;
  info.run_id = new_run_id();
  info.started_utc = utc_now("%Y-%m-%dT%H:%M:%SZ");
  info.reprobench_version = kProjectVersion;
  RunDirectory directory = RunDirectory::create(place_.store, place_.store / "replays" / info.run_id, info, plan);
  left_.push_back({directory.folder()});

  const InterruptHandler interrupts;
  ExecutionOptions options;
  options.jobs = fit_at_once(tasks, needs) ? place_.jobs : 1;
  options.interrupt = &interrupts.count();
  const auto cells = execute(plan, place_.workers, launcher_, clock_, directory, options, {});
  directory.finish(info);
  if (interrupts.count() > 0) throw ReplayInterrupted(interrupts.was_terminated());

  std::vector<ReplayOutcome> outcomes;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].attempts.empty()) throw ReplayFailed(fmt::format("replay `{}` was not started", tasks[i].purpose));
    AttemptRecord attempt = cells[i].attempts.back();
    if (attempt.end != AttemptEnd::completed) left_.back().has_failed = true;
    const std::filesystem::path folder = directory.folder() / attempt.lead().folder;
    if (attempt.lead().result) {
      std::int64_t& peak_bytes = peak_bytes_[workload_of(tasks[i])];
      peak_bytes = std::max(peak_bytes, attempt.lead().result->peak_rss_bytes);
    }
    int number = -1;
    for (RankRecord& rank : attempt.ranks) {
      ++number;
      if (rank.trace || !rank.result) continue;
      rank.trace = read_trace(directory.folder() / rank.folder / "trace.jsonl", plan.cells[i].cell.request.cell_id,
                              attempt.nonce, first_step_of(tasks[i].request), number);
    }
    outcomes.push_back({folder, std::move(attempt)});
  }
  return outcomes;
}

void ReplayRunner::remove_latest() {
  std::error_code ignored;  // what is left behind is only disk space, under a name that says what it is
  if (left_.empty()) return;
  if (left_.back().has_failed) {
    remove_tensors(left_.back().folder);
  } else {
    std::filesystem::remove_all(left_.back().folder, ignored);
  }
  left_.pop_back();
}

void ReplayRunner::remove_files() {
  while (!left_.empty()) remove_latest();
}

}  // namespace reprobench
