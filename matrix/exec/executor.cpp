#include "matrix/exec/executor.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <sys/random.h>

#include "matrix/contract/number.hpp"
#include "matrix/exec/attempt_environment.hpp"
#include "matrix/exec/attempt_watch.hpp"
#include "matrix/exec/gpu_desk.hpp"
#include "matrix/exec/schedule.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kTick{200};
constexpr milliseconds kReactionTime{100};   // how late a timer may be noticed
constexpr milliseconds kLastGoodbye{2'000};  // for the trees of a run that ends by an exception
constexpr int kLongestBackoffDoublings = 10;

std::string new_nonce() {
  std::uint64_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return hex64(bits);
}

struct Task {
  std::size_t cell_index = 0;
  int repeat = 0;
  int attempt = 0;
  nanoseconds not_before{0};
};

struct RunningAttempt {
  Task task;
  CellRequest request;
  std::string folder;  // relative to the run directory
  AttemptHandle handle = 0;
  AttemptWatch watch;
  AttemptGpus gpus;
};

class Execution {
 public:
  Execution(const Plan& plan, const std::map<std::string, WorkerCommand>& workers, Launcher& launcher,
            const Clock& clock, RunDirectory& run, const ExecutionOptions& options, const ExecutionObserver& observer)
      : plan_(plan),
        workers_(workers),
        launcher_(launcher),
        clock_(clock),
        run_(run),
        options_(options),
        observer_(observer),
        desk_(plan.host, options.telemetry) {
    for (const PlannedCell& planned : plan.cells) {
      records_.push_back({planned.cell.request.cell_id, {}});
      repeats_left_.push_back(planned.skip ? 0 : planned.cell.repeat);
      if (!planned.skip && !workers.contains(planned.cell.request.stack)) {
        throw std::invalid_argument("no worker for stack " + planned.cell.request.stack);
      }
    }
    for (const ScheduledRepeat& scheduled : schedule(plan)) {
      waiting_.push_back({scheduled.cell_index, scheduled.repeat, 0, nanoseconds{0}});
    }
  }

  std::vector<CellRecord> run() {
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

 private:
  bool is_interrupted() const { return interrupt_level() > static_cast<int>(Interrupt::none); }
  int interrupt_level() const { return options_.interrupt == nullptr ? 0 : options_.interrupt->load(); }
  bool launches_no_more() const {
    const auto failed = static_cast<int>(failed_cells_.size());
    return is_interrupted() || (options_.fail_fast > 0 && failed >= options_.fail_fast);
  }
  bool has_work() const { return !running_.empty() || (!waiting_.empty() && !launches_no_more()); }
  const Cell& cell_of(const Task& task) const { return plan_.cells[task.cell_index].cell; }

  void launch_what_may_run();
  bool may_run_beside_others(const Task& task) const;
  CellRequest request_of(const Task& task) const;
  void launch(const Task& task, AttemptGpus gpus);
  void give_up(const Task& task, const std::string& reason);
  milliseconds until_next_timer() const;
  void take(const LaunchEvent& event);
  void watch_running();
  void conclude(std::size_t index, std::optional<AttemptEnd> cause);
  void record(const Task& task, const CellRequest& request, AttemptRecord attempt);
  void retry_or_close(const Task& task, const AttemptRecord& attempt);
  void abandon();
  std::vector<CellRecord> finished_records();

  const Plan& plan_;
  const std::map<std::string, WorkerCommand>& workers_;
  Launcher& launcher_;
  const Clock& clock_;
  RunDirectory& run_;
  const ExecutionOptions& options_;
  const ExecutionObserver& observer_;

  GpuDesk desk_;
  std::deque<Task> waiting_;  // in order; retries stand in front once they are due
  std::vector<RunningAttempt> running_;
  std::vector<CellRecord> records_;
  std::vector<int> repeats_left_;  // by cell
  std::set<std::size_t> failed_cells_;
};

// An exclusive cell waits until nothing runs, and what stands behind it waits too: overtaking would let a stream of
// small cells starve it.
bool Execution::may_run_beside_others(const Task& task) const {
  if (running_.empty()) return true;
  const bool others_are_exclusive = std::any_of(
      running_.begin(), running_.end(), [&](const RunningAttempt& attempt) { return cell_of(attempt.task).exclusive; });
  return !cell_of(task).exclusive && !others_are_exclusive && static_cast<int>(running_.size()) < options_.jobs;
}

// What waits for a GPU that is in use is overtaken by what needs none or another.
void Execution::launch_what_may_run() {
  for (std::size_t i = 0; i < waiting_.size() && !launches_no_more();) {
    const Task task = waiting_[i];
    if (task.not_before > clock_.now()) {
      ++i;
      continue;
    }
    if (!may_run_beside_others(task)) return;
    const Cell& cell = cell_of(task);
    const std::string hopeless = desk_.hopeless_because(cell);
    std::optional<AttemptGpus> gpus;
    if (hopeless.empty() && !(gpus = desk_.try_take(cell))) {
      ++i;
      continue;
    }
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    if (gpus) {
      launch(task, std::move(*gpus));
    } else {
      give_up(task, hopeless);
    }
    i = 0;  // an attempt that could not start may have put another in front
  }
}

CellRequest Execution::request_of(const Task& task) const {
  const Cell& cell = cell_of(task);
  CellRequest request = cell.request;
  request.nonce = new_nonce();
  request.repeat = task.repeat;
  request.attempt = task.attempt;
  request.poison_allocator = cell.poison_last_repeat && task.repeat == cell.repeat - 1;
  const auto injection = cell.injections.find(task.repeat);
  if (injection != cell.injections.end()) request.inject = injection->second;
  return request;
}

// An attempt on record that was never launched: its cell is errored, not forgotten.
void Execution::give_up(const Task& task, const std::string& reason) {
  const CellRequest request = request_of(task);
  const std::string folder = run_.begin_attempt(request).lexically_relative(run_.folder()).string();
  AttemptRecord attempt = load_attempt(run_.folder().string(), folder, request, AttemptEnd::gpu_hw);
  attempt.detail = reason;
  record(task, request, std::move(attempt));
}

void Execution::launch(const Task& task, AttemptGpus gpus) {
  const Cell& cell = cell_of(task);
  const WorkerCommand& worker = workers_.at(cell.request.stack);
  LaunchRequest launch;
  launch.request = request_of(task);
  launch.folder = run_.begin_attempt(launch.request);
  launch.command = worker.command;
  launch.command.insert(launch.command.end(), {"run", (launch.folder / "request.json").string()});
  launch.command.insert(launch.command.end(), worker.arguments.begin(), worker.arguments.end());
  launch.environment = attempt_environment(launch.request, launch.folder, worker.environment, gpus.lease.gpus());
  launch.grace = cell.limits.grace;
  const std::string folder = launch.folder.lexically_relative(run_.folder()).string();
  if (observer_.attempt_started) observer_.attempt_started(cell, launch.request);
  desk_.watch(gpus, launch.request, launch.folder);
  try {
    const AttemptHandle handle = launcher_.start(launch);
    running_.push_back(
        {task, launch.request, folder, handle, AttemptWatch(cell.limits, clock_.now()), std::move(gpus)});
  } catch (const std::system_error& error) {
    desk_.stop_watching(gpus);
    desk_.give_back(gpus);
    AttemptRecord attempt = load_attempt(run_.folder().string(), folder, launch.request, AttemptEnd::launch);
    attempt.detail = error.what();
    record(task, launch.request, std::move(attempt));
  }
}

milliseconds Execution::until_next_timer() const {
  if (!running_.empty()) return kReactionTime;
  milliseconds wait = kTick;
  const nanoseconds now = clock_.now();
  for (const Task& task : waiting_) {
    const nanoseconds left = std::max(task.not_before - now, nanoseconds{0});
    wait = std::min(wait, std::chrono::ceil<milliseconds>(left));
  }
  return wait;
}

void Execution::take(const LaunchEvent& event) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const RunningAttempt& attempt) { return attempt.handle == event.handle; });
  if (found == running_.end()) return;  // one that was given up has ended after all
  if (event.kind == LaunchEvent::Kind::heartbeat) {
    found->watch.heartbeat(clock_.now());
  } else {
    conclude(static_cast<std::size_t>(found - running_.begin()), event.cause);
  }
}

void Execution::watch_running() {
  const nanoseconds now = clock_.now();
  for (std::size_t i = running_.size(); i-- > 0;) {
    RunningAttempt& attempt = running_[i];
    AttemptWatch& watch = attempt.watch;
    if (is_interrupted()) watch.stop(AttemptEnd::interrupted, "stopped by the user", now);
    if (interrupt_level() >= static_cast<int>(Interrupt::stop_now)) watch.kill_now(now);
    watch.check_limits(now);
    if (const auto signal = watch.due_signal(now)) launcher_.stop(attempt.handle, *signal);
    if (watch.is_given_up(now)) conclude(i, std::nullopt);
  }
}

void Execution::conclude(std::size_t index, std::optional<AttemptEnd> cause) {
  RunningAttempt ended = std::move(running_[index]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  const bool is_left_behind = ended.watch.is_given_up(clock_.now());
  if (is_left_behind) desk_.quarantine(ended.gpus, "a process on it survived 8 KILLs");
  desk_.stop_watching(ended.gpus);
  desk_.give_back(ended.gpus);
  const auto stopped_as = ended.watch.stopped_as() ? ended.watch.stopped_as() : cause;
  AttemptRecord attempt = load_attempt(run_.folder().string(), ended.folder, ended.request, stopped_as);
  if (attempt.end == ended.watch.stopped_as()) {
    attempt.detail = ended.watch.detail();
    if (attempt.trace && !attempt.trace->steps.empty()) {
      attempt.detail += fmt::format("; last step {}", attempt.trace->steps.size());
    }
    if (is_left_behind) attempt.detail += "; still alive after 8 KILLs, left behind";
  }
  record(ended.task, ended.request, std::move(attempt));
}

void Execution::record(const Task& task, const CellRequest& request, AttemptRecord attempt) {
  run_.end_attempt(request, attempt.end, attempt.detail);
  if (side_of(attempt.end) == Side::product) failed_cells_.insert(task.cell_index);
  if (observer_.attempt_ended) observer_.attempt_ended(cell_of(task), attempt);
  attempt.trace.reset();  // it stays on disk; a run of thousands of cells must fit in memory
  records_[task.cell_index].attempts.push_back(std::move(attempt));
  const AttemptRecord& recorded = records_[task.cell_index].attempts.back();
  desk_.note(cell_of(task), recorded);
  retry_or_close(task, recorded);
}

void Execution::retry_or_close(const Task& task, const AttemptRecord& attempt) {
  if (task.attempt < options_.infra_retries && desk_.is_worth_retrying(cell_of(task), attempt)) {
    const int doublings = std::min(task.attempt, kLongestBackoffDoublings);
    Task again = task;
    again.attempt += 1;
    again.not_before = clock_.now() + options_.retry_backoff * (1 << doublings);
    waiting_.push_front(again);
    return;
  }
  if (--repeats_left_[task.cell_index] == 0 && observer_.cell_ended) {
    observer_.cell_ended(cell_of(task), records_[task.cell_index]);
  }
}

// The run ends by an exception (the store is gone, most likely): nothing of it may live on.
void Execution::abandon() {
  for (const RunningAttempt& attempt : running_) launcher_.stop(attempt.handle, StopSignal::kill);
  const nanoseconds deadline = clock_.now() + kLastGoodbye;
  while (!running_.empty() && clock_.now() < deadline) {
    for (const LaunchEvent& event : launcher_.wait(kReactionTime)) {
      if (event.kind != LaunchEvent::Kind::ended) continue;
      std::erase_if(running_, [&](const RunningAttempt& attempt) { return attempt.handle == event.handle; });
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

}  // namespace

std::vector<CellRecord> execute(const Plan& plan, const std::map<std::string, WorkerCommand>& workers,
                                Launcher& launcher, const Clock& clock, RunDirectory& run,
                                const ExecutionOptions& options, const ExecutionObserver& observer) {
  return Execution(plan, workers, launcher, clock, run, options, observer).run();
}

}  // namespace reprobench
