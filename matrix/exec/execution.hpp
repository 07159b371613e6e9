// One execution of a plan, as execute() keeps it (executor.hpp): what runs, what waits, and what has been recorded.
//
// `execution.cpp` has the loop and the timers, `execution_begin.cpp` how attempts begin, and `execution_end.cpp` how
// they end.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "matrix/exec/executor.hpp"
#include "matrix/exec/placement.hpp"
#include "matrix/exec/running_group.hpp"
#include "matrix/exec/scheduler.hpp"

namespace reprobench {

class Execution {
 public:
  Execution(const Plan& plan, const std::map<std::string, WorkerCommand>& workers, Launcher& launcher,
            const Clock& clock, RunDirectory& run, const ExecutionOptions& options, const ExecutionObserver& observer);

  std::vector<CellRecord> run();

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
  void begin_members(RunningGroup& group);
  CellRequest request_of(const AttemptTask& task) const;
  void launch(const AttemptTask& task, std::size_t member, RunningGroup& group);
  void give_up(const TaskGroup& tasks, const Hopeless& hopeless);
  std::chrono::milliseconds until_next_timer() const;
  void take(const LaunchEvent& event);
  bool take_end(RunningAttempt& attempt, const LaunchEvent& event);
  void watch_running();
  void hold_against_disk_bound(RunningAttempt& attempt);
  bool watch(RunningAttempt& attempt, std::chrono::nanoseconds now);
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
  const std::chrono::nanoseconds began_;

  Scheduler scheduler_;
  RepeatsLeft repeats_left_;
  Placement placement_;
  std::vector<RunningGroup> running_;
  std::vector<CellRecord> records_;
  std::set<std::string> failed_cells_;                         // ids
  std::set<std::size_t> is_over_;                              // cells that get no more repeats
  std::map<std::size_t, std::set<std::string>> timed_beside_;  // by the first of cells that are compared: their stacks
};

}  // namespace reprobench
