// Which attempts may start now. Pure: it knows the plan and what runs, asks `place` whether there is room on the
// machine (placement.hpp), and starts nothing itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "matrix/exec/repeats_left.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

struct AttemptTask {
  std::size_t cell_index = 0;  // into Plan::cells
  int repeat = 0;
  int attempt = 0;  // retry number
};

// What may run beside a group of attempts.
enum class Company {
  alone,      // nothing: one attempt that is timed
  own_group,  // its own members and nothing else: residents that are timed against each other
  shared,     // any other that shares, up to the number of jobs
};

// Attempts that start together. Several are residents: all stay up, and take turns (turn_order.hpp).
struct TaskGroup {
  std::vector<AttemptTask> members;
  Company company = Company::shared;
  std::chrono::nanoseconds not_before{0};
};

// Every repeat of every cell that is not skipped. A reference and the cells that name it belong together: repeats go
// round-robin over them (A0 B0 C0 A1 B1 C1 ...), so that what is compared was measured seconds apart; their residents
// are one group a repeat. Otherwise in plan order.
std::vector<TaskGroup> groups_of(const Plan& plan);

class Scheduler {
 public:
  Scheduler(const Plan& plan, int jobs);

  // Takes the first group that may start now, for which `place` found room. What cannot be placed is overtaken; what
  // waits for others to end is not, and nor is what stands behind it: a stream of small cells would starve it.
  std::optional<TaskGroup> next(std::chrono::nanoseconds now, const std::function<bool(const TaskGroup&)>& place);

  // A group that next() gave no longer runs.
  void ended(const TaskGroup& group);

  // The same attempts once more, in front of all others once they are due.
  void retry(TaskGroup group, std::chrono::nanoseconds not_before);

  // Behind all others: what made the noise may be over by then. They stand round-robin as those of the plan do.
  void add(const std::vector<FurtherRepeats>& repeats);

  bool has_waiting() const { return !waiting_.empty(); }
  std::optional<std::chrono::nanoseconds> next_due() const;  // the earliest `not_before`

 private:
  bool may_start_beside_others(const TaskGroup& group) const;

  const Plan& plan_;
  std::deque<TaskGroup> waiting_;
  int jobs_;
  int running_ = 0;           // groups
  int running_unshared_ = 0;  // of them, those that bear no company
};

}  // namespace reprobench
