#include "matrix/exec/scheduler.hpp"

#include <algorithm>

namespace reprobench {
namespace {

// Residents share what they run on, so it must be of one kind.
bool may_be_resident_together(const CellRequest& a, const CellRequest& b) {
  return a.turn_steps > 0 && b.turn_steps > 0 && a.device == b.device && a.world_size == b.world_size;
}

Company company_of(const Plan& plan, const TaskGroup& group) {
  const bool is_timed = std::any_of(group.members.begin(), group.members.end(), [&](const AttemptTask& task) {
    return plan.cells[task.cell_index].cell.exclusive;
  });
  if (!is_timed) return Company::shared;
  return group.members.size() > 1 ? Company::own_group : Company::alone;
}

// Without a prediction a cell counts as nothing, as it does where cells run beside each other.
bool has_room_for(const Plan& plan, const TaskGroup& group, std::size_t index, std::int64_t available_bytes) {
  std::int64_t sum_bytes = plan.cells[index].cell.memory_bytes;
  for (const AttemptTask& task : group.members) sum_bytes += plan.cells[task.cell_index].cell.memory_bytes;
  return available_bytes == 0 || sum_bytes <= available_bytes;
}

// One repeat of cells that are compared with each other.
std::vector<TaskGroup> groups_of_repeat(const Plan& plan, const std::vector<FurtherRepeats>& cells, int repeat,
                                        std::int64_t available_bytes) {
  const auto request = [&](std::size_t index) -> const CellRequest& { return plan.cells[index].cell.request; };
  std::vector<TaskGroup> groups;
  for (const FurtherRepeats& repeats : cells) {
    if (repeat < repeats.from || repeat >= repeats.until) continue;
    const std::size_t index = repeats.cell_index;
    const auto joined = std::find_if(groups.begin(), groups.end(), [&](const TaskGroup& group) {
      return may_be_resident_together(request(group.members.front().cell_index), request(index)) &&
             has_room_for(plan, group, index, available_bytes);
    });
    TaskGroup& group = joined == groups.end() ? groups.emplace_back() : *joined;
    group.members.push_back({index, repeat, 0});
  }
  for (TaskGroup& group : groups) group.company = company_of(plan, group);
  return groups;
}

// Round-robin.
std::vector<TaskGroup> groups_of_repeats(const Plan& plan, const std::vector<FurtherRepeats>& cells,
                                         std::int64_t available_bytes) {
  std::vector<TaskGroup> order;
  int last = 0;
  for (const FurtherRepeats& repeats : cells) last = std::max(last, repeats.until);
  for (int repeat = 0; repeat < last; ++repeat) {
    for (TaskGroup& group : groups_of_repeat(plan, cells, repeat, available_bytes)) order.push_back(std::move(group));
  }
  return order;
}

}  // namespace

std::vector<TaskGroup> groups_of(const Plan& plan, std::int64_t available_bytes) {
  std::vector<TaskGroup> order;
  for (const std::vector<std::size_t>& cells : compared_cells(plan)) {
    std::vector<FurtherRepeats> all;
    for (const std::size_t index : cells) all.push_back({index, 0, plan.cells[index].cell.repeat});
    for (TaskGroup& group : groups_of_repeats(plan, all, available_bytes)) order.push_back(std::move(group));
  }
  return order;
}

Scheduler::Scheduler(const Plan& plan, int jobs, std::int64_t available_bytes)
    : plan_(plan), available_bytes_(available_bytes), jobs_(jobs) {
  for (TaskGroup& group : groups_of(plan, available_bytes)) waiting_.push_back(std::move(group));
}

bool Scheduler::may_start_beside_others(const TaskGroup& group) const {
  if (running_ == 0) return true;
  return group.company == Company::shared && running_unshared_ == 0 && running_ < jobs_;
}

std::optional<TaskGroup> Scheduler::next(std::chrono::nanoseconds now,
                                         const std::function<bool(const TaskGroup&)>& place) {
  for (auto waiting = waiting_.begin(); waiting != waiting_.end(); ++waiting) {
    if (waiting->not_before > now) continue;
    if (!may_start_beside_others(*waiting)) return std::nullopt;
    if (!place(*waiting)) continue;
    TaskGroup group = std::move(*waiting);
    waiting_.erase(waiting);
    ++running_;
    if (group.company != Company::shared) ++running_unshared_;
    return group;
  }
  return std::nullopt;
}

void Scheduler::ended(const TaskGroup& group) {
  --running_;
  if (group.company != Company::shared) --running_unshared_;
}

void Scheduler::retry(TaskGroup group, std::chrono::nanoseconds not_before) {
  for (AttemptTask& task : group.members) task.attempt += 1;
  group.not_before = not_before;
  waiting_.push_front(std::move(group));
}

void Scheduler::add(const std::vector<FurtherRepeats>& repeats) {
  for (TaskGroup& group : groups_of_repeats(plan_, repeats, available_bytes_)) waiting_.push_back(std::move(group));
}

std::optional<std::chrono::nanoseconds> Scheduler::next_due() const {
  std::optional<std::chrono::nanoseconds> due;
  for (const TaskGroup& group : waiting_) due = std::min(due.value_or(group.not_before), group.not_before);
  return due;
}

}  // namespace reprobench
