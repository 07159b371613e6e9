#include "matrix/exec/executor.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <sys/random.h>

#include "matrix/base/number.hpp"
#include "matrix/contract/turns.hpp"
#include "matrix/exec/launch_request.hpp"
#include "matrix/exec/placement.hpp"
#include "matrix/exec/running_group.hpp"
#include "matrix/exec/scheduler.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kTick{200};
constexpr milliseconds kDiskLookInterval{200};
constexpr milliseconds kReactionTime{100};   // how late a timer may be noticed
constexpr milliseconds kTurnReaction{5};     // how late the end of a turn may be noticed: blocks are of 50 ms and more
constexpr milliseconds kLastGoodbye{2'000};  // for the trees of a run that ends by an exception
constexpr int kLongestBackoffDoublings = 10;
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
        began_(clock.now()),
        scheduler_(plan, options.jobs),
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
    const bool is_late = options_.launch_within.count() > 0 && clock_.now() - began_ >= options_.launch_within;
    return is_late || is_interrupted() || (options_.fail_fast > 0 && failed >= options_.fail_fast);
  }
  bool has_work() const { return !running_.empty() || (scheduler_.has_waiting() && !launches_no_more()); }
  const Cell& cell_of(const AttemptTask& task) const { return plan_.cells[task.cell_index].cell; }

  std::int64_t memory_bytes(const TaskGroup& group) const;
  bool fits_beside_running(const TaskGroup& group) const;
  void launch_what_may_run();
  void read_libraries_anew(const TaskGroup& group);
  void launch(TaskGroup tasks, GpuLease lease);
  CellRequest request_of(const AttemptTask& task) const;
  void launch(const AttemptTask& task, std::size_t member, RunningGroup& group);
  void give_up(const TaskGroup& tasks, const Hopeless& hopeless);
  milliseconds until_next_timer() const;
  void take(const LaunchEvent& event);
  bool take_end(RunningAttempt& attempt, const LaunchEvent& event);
  void watch_running();
  void hold_against_disk_bound(RunningAttempt& attempt);
  bool watch(RunningAttempt& attempt, nanoseconds now);
  bool begin_next_segment(const RunningGroup& group, RunningAttempt& attempt);
  void conclude(RunningGroup& group, std::size_t index);
  void record(RunningGroup& group, const AttemptTask& task, const CellRequest& request, AttemptRecord attempt,
              std::optional<int> ended_by = std::nullopt);
  void close_if_over(std::size_t index);
  void retry_or_close(RunningGroup group);
  void look_at(const std::vector<std::size_t>& ended);
  std::vector<FurtherRepeats> further_repeats(const std::vector<std::size_t>& ended);
  void end_cell(std::size_t index);
  void abandon();
  std::vector<CellRecord> finished_records();

  const Plan& plan_;
  const std::map<std::string, WorkerCommand>& workers_;
  Launcher& launcher_;
  const Clock& clock_;
  RunDirectory& run_;
  const ExecutionOptions& options_;
  const ExecutionObserver& observer_;
  const nanoseconds began_;

  Scheduler scheduler_;
  RepeatsLeft repeats_left_;
  Placement placement_;
  std::vector<RunningGroup> running_;
  std::vector<CellRecord> records_;
  std::set<std::string> failed_cells_;                         // ids
  std::set<std::size_t> is_over_;                              // cells that get no more repeats
  std::map<std::size_t, std::set<std::string>> timed_beside_;  // by the first of cells that are compared: their stacks
};

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
  for (const AttemptTask& task : group.tasks.members) {
    turns.push_back(count_of_turns(cell_of(task).request));
    launch(task, turns.size() - 1, group);
  }
  group.order = TurnOrder(std::move(turns));
  close_if_over(running_.size() - 1);
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

void Execution::watch_running() {
  const nanoseconds now = clock_.now();
  for (std::size_t i = running_.size(); i-- > 0;) {
    RunningGroup& group = running_[i];
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

void Execution::conclude(RunningGroup& group, std::size_t index) {
  RunningAttempt ended = std::move(group.attempts[index]);
  group.attempts.erase(group.attempts.begin() + static_cast<std::ptrdiff_t>(index));
  group.order.drop(ended.member);
  const bool is_left_behind = ended.ranks_running > 0;
  if (is_left_behind) placement_.leave_behind(group.lease, cell_of(ended.task));
  if (ended.telemetry) ended.telemetry->stop();
  const KnownEnd& known = ended.watch.known();
  AttemptRecord attempt = load_attempt(run_.folder().string(), ended.folder, ended.request, known);
  if (attempt.end == known.end && !ended.watch.detail().empty()) {
    attempt.detail = ended.watch.detail();
    const auto& trace = attempt.deciding().trace;
    if (trace && !trace->steps.empty()) attempt.detail += fmt::format("; last step {}", trace->steps.size());
  }
  if (is_left_behind) attempt.detail += "; still alive after 8 KILLs, left behind";
  // A rank that gave up may have named the one that it waited for.
  const auto ended_by = known.rank ? std::optional(attempt.ended_by) : std::nullopt;
  record(group, ended.task, ended.request, std::move(attempt), ended_by);
}

// `ended_by`: the rank, where that was seen and is not to be read from the files.
void Execution::record(RunningGroup& group, const AttemptTask& task, const CellRequest& request, AttemptRecord attempt,
                       std::optional<int> ended_by) {
  run_.end_attempt(request, attempt.end, attempt.detail, most_ranks_of(request) > 1 ? ended_by : std::nullopt);
  if (side_of(attempt.end) == Side::product) {
    failed_cells_.insert(request.cell_id);
    group.has_product_end = true;
  }
  const Cell& cell = cell_of(task);
  if (observer_.attempt_ended) observer_.attempt_ended(cell, attempt);
  drop_traces(attempt);
  records_[task.cell_index].attempts.push_back(std::move(attempt));
  const AttemptRecord& recorded = records_[task.cell_index].attempts.back();
  placement_.note(cell, recorded);
  if (placement_.is_worth_retrying(cell, recorded)) group.is_worth_retrying = true;
}

void Execution::close_if_over(std::size_t index) {
  if (!running_[index].attempts.empty()) return;
  RunningGroup over = std::move(running_[index]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  retry_or_close(std::move(over));
}

// Residents are measured against each other, so they are repeated together; never after one of them failed.
void Execution::retry_or_close(RunningGroup group) {
  placement_.give_back(group.lease);
  scheduler_.ended(group.tasks);
  const int retries = group.tasks.members.front().attempt;
  if (group.is_worth_retrying && !group.has_product_end && retries < options_.infra_retries) {
    const int doublings = std::min(retries, kLongestBackoffDoublings);
    scheduler_.retry(std::move(group.tasks), clock_.now() + options_.retry_backoff * (1 << doublings));
    return;
  }
  for (const AttemptTask& task : group.tasks.members) look_at(repeats_left_.ended(task.cell_index));
}

void Execution::look_at(const std::vector<std::size_t>& ended) {
  const std::vector<FurtherRepeats> further = further_repeats(ended);
  scheduler_.add(further);
  for (const FurtherRepeats& repeats : further) {
    if (observer_.repeats_added) observer_.repeats_added(plan_.cells[repeats.cell_index].cell, repeats);
  }
  for (const std::size_t index : ended) {
    const bool goes_on =
        std::ranges::any_of(further, [&](const FurtherRepeats& repeats) { return repeats.cell_index == index; });
    if (!goes_on && is_over_.insert(index).second) end_cell(index);
  }
}

// Further repeats of cells that noise leaves undecided, if the observer says so and the run goes on.
std::vector<FurtherRepeats> Execution::further_repeats(const std::vector<std::size_t>& ended) {
  if (ended.empty() || !observer_.open_for_noise || launches_no_more()) return {};
  std::vector<const CellRecord*> records;
  for (const std::size_t index : ended) records.push_back(&records_[index]);
  const std::vector<std::string> ids = observer_.open_for_noise(records);
  std::vector<std::size_t> open;
  for (const std::size_t index : ended) {
    if (std::ranges::count(ids, records_[index].cell_id) > 0) open.push_back(index);
  }
  return repeats_left_.add_for(open);
}

void Execution::end_cell(std::size_t index) {
  const CellRecord& cell = records_[index];
  if (observer_.cell_ended) observer_.cell_ended(plan_.cells[index].cell, cell);
  if (!observer_.failed_by_checks) return;
  for (const std::string& id : observer_.failed_by_checks(cell)) failed_cells_.insert(id);
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

}  // namespace

std::vector<CellRecord> execute(const Plan& plan, const std::map<std::string, WorkerCommand>& workers,
                                Launcher& launcher, const Clock& clock, RunDirectory& run,
                                const ExecutionOptions& options, const ExecutionObserver& observer) {
  return Execution(plan, workers, launcher, clock, run, options, observer).run();
}

}  // namespace reprobench
