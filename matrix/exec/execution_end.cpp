// How attempts end: what is recorded of them, and whether they or further repeats are to run.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "matrix/exec/execution.hpp"

namespace reprobench {
namespace {

constexpr int kLongestBackoffDoublings = 10;

}  // namespace

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
  if (!running_[index].attempts.empty() || running_[index].has_members_to_begin()) return;
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

}  // namespace reprobench
