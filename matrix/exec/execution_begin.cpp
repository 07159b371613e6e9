// How attempts begin: which may, with what request, and on which GPUs.
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/random.h>

#include "matrix/base/number.hpp"
#include "matrix/contract/turns.hpp"
#include "matrix/exec/execution.hpp"
#include "matrix/exec/launch_request.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;

constexpr int kRepeatsOfOneReading = 4;  // with the libraries where they lie; then they are read anew

std::string new_nonce() {
  std::uint64_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return hex64(bits);
}

// Half of what the attempt may be silent: a rank that gives up can say which one it waited for, an attempt that is
// stopped as a hang cannot.
milliseconds collective_timeout(const TimeLimits& limits) {
  return std::max(std::min(limits.heartbeat_gap, limits.first_heartbeat) / 2, milliseconds{1});
}

}  // namespace

std::int64_t Execution::memory_bytes(const TaskGroup& group) const {
  std::int64_t sum = 0;
  for (const AttemptTask& task : group.members) sum += cell_of(task).memory_bytes;
  return sum;
}

// A group alone may always start: what does not fit at all was skipped when the plan was made.
bool Execution::fits_beside_running(const TaskGroup& group) const {
  if (running_.empty() || options_.available_bytes == 0) return true;
  std::int64_t sum = memory_bytes(group);
  for (const RunningGroup& other : running_) sum += memory_bytes(other.tasks);
  return sum <= options_.available_bytes;
}

void Execution::launch_what_may_run() {
  while (!launches_no_more()) {
    std::optional<Hopeless> hopeless;
    std::optional<GpuLease> lease;
    auto tasks = scheduler_.next(clock_.now(), [&](const TaskGroup& group) {
      if (!fits_beside_running(group)) return false;
      const Cell& cell = cell_of(group.members.front());
      hopeless = placement_.hopeless_because(cell);
      return hopeless || (lease = placement_.try_take(cell));
    });
    if (!tasks) return;
    if (hopeless) {
      give_up(*tasks, *hopeless);
    } else {
      read_libraries_anew(*tasks);
      launch(std::move(*tasks), std::move(*lease));
    }
  }
}

CellRequest Execution::request_of(const AttemptTask& task) const {
  const Cell& cell = cell_of(task);
  CellRequest request = cell.request;
  request.knobs = with_defaults(request.knobs);
  request.nonce = new_nonce();
  request.repeat = task.repeat;
  request.attempt = task.attempt;
  request.poison_allocator = cell.poison_last_repeat && task.repeat == cell.repeat - 1;
  const auto injection = cell.injections.find(task.repeat);
  if (injection != cell.injections.end()) request.inject = injection->second;
  if (most_ranks_of(request) > 1) request.collective_timeout_ms = collective_timeout(cell.limits).count();
  return request;
}

// Attempts on record that were never launched: their cells are errored, not forgotten.
void Execution::give_up(const TaskGroup& tasks, const Hopeless& hopeless) {
  RunningGroup group;
  group.tasks = tasks;
  for (const AttemptTask& task : tasks.members) {
    const CellRequest request = request_of(task);
    const std::string folder = run_.begin_attempt(request).lexically_relative(run_.folder()).string();
    AttemptRecord attempt = load_attempt(run_.folder().string(), folder, request, {hopeless.end, std::nullopt});
    attempt.detail = hopeless.reason;
    record(group, task, request, std::move(attempt));
  }
  retry_or_close(std::move(group));
}

// Repeats go round-robin over the cells that are compared, so the first of these begins each round. Nothing else runs
// then.
void Execution::read_libraries_anew(const TaskGroup& group) {
  const AttemptTask& task = group.members.front();
  const auto stacks = timed_beside_.find(task.cell_index);
  if (stacks == timed_beside_.end() || stacks->second.size() < 2 || group.company == Company::shared) return;
  if (cell_of(task).request.device != "cpu" || task.attempt > 0 || task.repeat % kRepeatsOfOneReading != 0) return;
  std::vector<std::vector<std::filesystem::path>> sides;
  for (const std::string& stack : stacks->second) sides.push_back(workers_.at(stack).mapped);
  const ReadAnew read = options_.read_anew(sides, task.repeat / kRepeatsOfOneReading % 2 == 1);
  if (observer_.libraries_read_anew) observer_.libraries_read_anew(stacks->second, read);
}

void Execution::launch(TaskGroup tasks, GpuLease lease) {
  RunningGroup& group = running_.emplace_back();  // already here, so that an exception finds what was started
  group.tasks = std::move(tasks);
  group.lease = std::move(lease);
  std::vector<std::int64_t> turns;
  for (const AttemptTask& task : group.tasks.members) turns.push_back(count_of_turns(cell_of(task).request));
  group.order = TurnOrder(std::move(turns));
  begin_members(group);
  close_if_over(running_.size() - 1);
}

// Residents load one after the other, since a timed start is that of a process alone. If the run is to end meanwhile,
// those that have not begun are left out, like whatever else waits.
void Execution::begin_members(RunningGroup& group) {
  while (group.has_members_to_begin() && all_have_loaded(group, clock_.now())) {
    if (launches_no_more()) {
      group.tasks.members.resize(group.begun);
      return;
    }
    const std::size_t member = group.begun++;
    launch(group.tasks.members[member], member, group);
  }
}

void Execution::launch(const AttemptTask& task, std::size_t member, RunningGroup& group) {
  const Cell& cell = cell_of(task);
  CellRequest request = request_of(task);
  request.link_peak = placement_.link_peak(group.lease);
  const std::filesystem::path folder = run_.begin_attempt(request);
  const LaunchRequest launch =
      launch_request(request_of_segment(request, AttemptSegment::whole), folder, workers_.at(request.stack),
                     group.lease.gpus(), cell.limits.grace, options_.meeting);
  RunningAttempt attempt{task,
                         std::move(request),
                         folder.lexically_relative(run_.folder()).string(),
                         0,
                         AttemptWatch(cell.limits, cell.request.world_size, clock_.now(), options_.queue_limit),
                         nullptr,
                         nullptr,
                         member,
                         cell.request.world_size};
  if (attempt.request.turn_steps > 0) attempt.resident = std::make_unique<Resident>(attempt.request, folder);
  if (observer_.attempt_started) observer_.attempt_started(cell, attempt.request);
  attempt.telemetry = placement_.watch(group.lease, attempt.request, folder);
  try {
    attempt.handle = launcher_.start(launch);
    group.attempts.push_back(std::move(attempt));
  } catch (const std::system_error& error) {
    if (attempt.telemetry) attempt.telemetry->stop();
    AttemptRecord failed =
        load_attempt(run_.folder().string(), attempt.folder, attempt.request, {AttemptEnd::launch, std::nullopt});
    failed.detail = error.what();
    record(group, task, attempt.request, std::move(failed));
  }
}

// An attempt that is to be stopped and resumed has further processes, each once the one before it is completed.
// True if one was started: its timers begin anew.
bool Execution::begin_next_segment(const RunningGroup& group, RunningAttempt& attempt) {
  const auto segments = segments_of(attempt.request);
  const auto next = static_cast<std::size_t>(attempt.segment) + 1;
  if (next >= segments.size() || attempt.watch.is_stopping()) return false;
  if (!segment_is_completed(run_.folder() / attempt.folder, attempt.request, attempt.segment)) return false;
  if (is_interrupted()) {
    attempt.watch.stop(AttemptEnd::interrupted, "stopped by the user", clock_.now());
    return false;
  }
  const Cell& cell = cell_of(attempt.task);
  attempt.segment = segments[next];
  const std::filesystem::path folder = run_.begin_segment(attempt.request, attempt.segment);
  const CellRequest request = request_of_segment(attempt.request, attempt.segment, run_.folder() / attempt.folder);
  attempt.watch = AttemptWatch(cell.limits, request.world_size, clock_.now(), options_.queue_limit);
  try {
    attempt.handle = launcher_.start(launch_request(request, folder, workers_.at(request.stack), group.lease.gpus(),
                                                    cell.limits.grace, options_.meeting));
  } catch (const std::system_error& error) {
    attempt.watch.stop(AttemptEnd::launch, error.what(), clock_.now());
    return false;
  }
  attempt.ranks_running = request.world_size;
  return true;
}

}  // namespace reprobench
