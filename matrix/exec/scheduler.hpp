// Decides which attempts may start now. Pure: it knows the plan and the running attempts, asks `place` whether the
// machine has room (placement.hpp), and starts nothing itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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

// The attempts that may run beside a group.
enum class Company {
  alone,      // none: one attempt that is timed
  own_group,  // only its own members: residents that are timed against each other
  shared,     // any other that shares, up to the number of jobs
};

// Attempts that start together. Several are residents: all stay up and take turns (turn_order.hpp).
struct TaskGroup {
  std::vector<AttemptTask> members;
  Company company = Company::shared;
  std::chrono::nanoseconds not_before{0};
};

// Every repeat of every cell that is not skipped. A reference and the cells that name it belong together. Repeats go
// round-robin over them (A0 B0 C0 A1 B1 C1 ...), so that values that are compared were measured seconds apart. Their
// residents are one group for each repeat, as far as `available_bytes` has room for them at once (0: not known).
// Otherwise the order is that of the plan.
std::vector<TaskGroup> groups_of(const Plan& plan, std::int64_t available_bytes = 0);

class Scheduler {
 public:
  Scheduler(const Plan& plan, int jobs, std::int64_t available_bytes = 0);

  // Takes the first group that may start now and for which `place` found room. A group that cannot be placed is
  // overtaken. A group that waits for others to end is not, and neither are groups behind it, because a stream of small
  // cells would starve it.
  std::optional<TaskGroup> next(std::chrono::nanoseconds now, const std::function<bool(const TaskGroup&)>& place);

  // Called when a group from next() no longer runs.
  void ended(const TaskGroup& group);

  // Puts the same attempts before all others, once they are due.
  void retry(TaskGroup group, std::chrono::nanoseconds not_before);

  // Puts repeats behind all others, because the source of the noise may be over by then. They go round-robin like those
  // of the plan.
  void add(const std::vector<FurtherRepeats>& repeats);

  bool has_waiting() const { return !waiting_.empty(); }
  std::optional<std::chrono::nanoseconds> next_due() const;  // the earliest `not_before`

 private:
  bool may_start_beside_others(const TaskGroup& group) const;

  const Plan& plan_;
  std::int64_t available_bytes_;
  std::deque<TaskGroup> waiting_;
  int jobs_;
  int running_ = 0;           // groups
  int running_unshared_ = 0;  // groups among them that are not Company::shared
};

}  // namespace reprobench
