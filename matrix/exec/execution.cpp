#include "matrix/exec/execution.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "matrix/evidence/attempt_judge.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kTick{200};
constexpr milliseconds kDiskLookInterval{200};
constexpr milliseconds kReactionTime{100};   // how late a timer may be noticed
constexpr milliseconds kTurnReaction{5};     // how late the end of a turn may be noticed: blocks are of 50 ms and more
constexpr milliseconds kLastGoodbye{2'000};  // for the trees of a run that ends by an exception

}  // namespace

Execution::Execution(const Plan& plan, const std::map<std::string, WorkerCommand>& workers, Launcher& launcher,
                     const Clock& clock, RunDirectory& run, const ExecutionOptions& options,
                     const ExecutionObserver& observer)
    : plan_(plan),
      workers_(workers),
      launcher_(launcher),
      clock_(clock),
      run_(run),
      options_(options),
      observer_(observer),
      began_(clock.now()),
      scheduler_(plan, options.jobs, options.available_bytes),
      repeats_left_(plan),
      placement_(plan.host, options.telemetry) {
  for (const PlannedCell& planned : plan.cells) {
    records_.push_back({planned.cell.request.cell_id, {}});
    if (!planned.skip && !workers.contains(planned.cell.request.stack)) {
      throw std::invalid_argument("no worker for stack " + planned.cell.request.stack);
    }
  }
  if (!options.read_anew) return;
  for (const std::vector<std::size_t>& compared : compared_cells(plan)) {
    for (const std::size_t index : compared) {
      timed_beside_[compared.front()].insert(plan.cells[index].cell.request.stack);
    }
  }
}

std::vector<CellRecord> Execution::run() {
  try {
    while (has_work()) {
      launch_what_may_run();
      for (const LaunchEvent& event : launcher_.wait(until_next_timer())) take(event);
      watch_running();
      if (observer_.tick) observer_.tick();
    }
  } catch (...) {
    abandon();
    throw;
  }
  return finished_records();
}

milliseconds Execution::until_next_timer() const {
  const bool has_turns =
      std::any_of(running_.begin(), running_.end(), [](const RunningGroup& group) { return group.takes_turns(); });
  if (has_turns) return kTurnReaction;
  if (!running_.empty()) return kReactionTime;
  const auto due = scheduler_.next_due();
  if (!due) return kTick;
  return std::min(kTick, std::chrono::ceil<milliseconds>(std::max(*due - clock_.now(), nanoseconds{0})));
}

void Execution::take(const LaunchEvent& event) {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    std::vector<RunningAttempt>& attempts = running_[i].attempts;
    const auto found = std::find_if(attempts.begin(), attempts.end(),
                                    [&](const RunningAttempt& attempt) { return attempt.handle == event.handle; });
    if (found == attempts.end()) continue;  // or one that was given up has ended after all
    if (event.kind == LaunchEvent::Kind::started) found->watch.started(event.rank, clock_.now());
    if (event.kind == LaunchEvent::Kind::heartbeat) found->watch.heartbeat(event.rank, clock_.now());
    if (event.kind == LaunchEvent::Kind::ended && take_end(*found, event)) {
      if (begin_next_segment(running_[i], *found)) return;
      conclude(running_[i], static_cast<std::size_t>(found - attempts.begin()));
      close_if_over(i);
    }
    return;
  }
}

// True if it was the last rank.
bool Execution::take_end(RunningAttempt& attempt, const LaunchEvent& event) {
  attempt.watch.ended(event.rank);
  attempt.ranks_running -= 1;
  if (event.cause) attempt.watch.stop(*event.cause, "", clock_.now(), event.rank);
  hold_against_disk_bound(attempt);  // one that ended between two looks
  const bool may_be_killed = event.memory_kills.count > 0;
  if ((attempt.ranks_running > 0 || may_be_killed) && !attempt.watch.is_stopping()) {
    CellRequest request = request_of_segment(attempt.request, attempt.segment);
    request.rank = event.rank;
    const RankFiles files = read_rank_files(segment_folder(run_.folder() / attempt.folder, attempt.segment), request);
    const std::string killed = killed_for_memory(files, request, event.memory_kills);
    if (!killed.empty()) attempt.watch.stop(AttemptEnd::host_oom, killed, clock_.now(), event.rank);
    if (judge_rank(files, request).end != AttemptEnd::completed) attempt.watch.stop_others(event.rank, clock_.now());
  }
  return attempt.ranks_running == 0;
}

void Execution::watch_running() {
  const nanoseconds now = clock_.now();
  for (std::size_t i = running_.size(); i-- > 0;) {
    RunningGroup& group = running_[i];
    begin_members(group);
    pass_turns(group, now);
    for (std::size_t j = group.attempts.size(); j-- > 0;) {
      if (watch(group.attempts[j], now)) conclude(group, j);
    }
    close_if_over(i);
  }
}

// An attempt over its bound is killed at once, since it may fill the disk while it is asked to stop. Looks take no more
// than a tenth of the time.
void Execution::hold_against_disk_bound(RunningAttempt& attempt) {
  const DiskBound& bound = options_.disk;
  if ((bound.attempt_bytes == 0 && bound.free_bytes == 0) || attempt.watch.is_stopping()) return;
  const nanoseconds before = clock_.now();
  const std::string problem = over_disk_bound(run_.folder() / attempt.folder, bound);
  const nanoseconds now = clock_.now();
  attempt.next_disk_look = now + std::max<nanoseconds>(kDiskLookInterval, 10 * (now - before));
  if (problem.empty()) return;
  attempt.watch.stop(AttemptEnd::disk_limit, problem, now);
  attempt.watch.kill_now(now);
}

// True if nobody waits for it any longer.
bool Execution::watch(RunningAttempt& attempt, nanoseconds now) {
  AttemptWatch& watch = attempt.watch;
  if (is_interrupted()) watch.stop(AttemptEnd::interrupted, "stopped by the user", now);
  if (interrupt_level() >= static_cast<int>(Interrupt::stop_now)) watch.kill_now(now);
  if (now >= attempt.next_disk_look) hold_against_disk_bound(attempt);
  watch.check_limits(now, [&] { return launcher_.stopped_ranks(attempt.handle); });
  if (const auto signal = watch.due_signal(now)) launcher_.stop(attempt.handle, *signal);
  return watch.is_given_up(now);
}

// The run ends by an exception (the store is gone, most likely): nothing of it may live on.
void Execution::abandon() {
  std::map<AttemptHandle, int> left;  // ranks that have not ended
  for (const RunningGroup& group : running_) {
    for (const RunningAttempt& attempt : group.attempts) left[attempt.handle] = attempt.ranks_running;
  }
  for (const auto& [handle, ranks] : left) launcher_.stop(handle, StopSignal::kill);
  const nanoseconds deadline = clock_.now() + kLastGoodbye;
  while (!left.empty() && clock_.now() < deadline) {
    for (const LaunchEvent& event : launcher_.wait(kReactionTime)) {
      const auto found = left.find(event.handle);
      if (event.kind == LaunchEvent::Kind::ended && found != left.end() && --found->second == 0) left.erase(found);
    }
  }
}

std::vector<CellRecord> Execution::finished_records() {
  for (CellRecord& cell : records_) {
    std::sort(cell.attempts.begin(), cell.attempts.end(), [](const AttemptRecord& a, const AttemptRecord& b) {
      return std::pair(a.repeat, a.attempt) < std::pair(b.repeat, b.attempt);
    });
  }
  return std::move(records_);
}

std::vector<CellRecord> execute(const Plan& plan, const std::map<std::string, WorkerCommand>& workers,
                                Launcher& launcher, const Clock& clock, RunDirectory& run,
                                const ExecutionOptions& options, const ExecutionObserver& observer) {
  return Execution(plan, workers, launcher, clock, run, options, observer).run();
}

}  // namespace reprobench
