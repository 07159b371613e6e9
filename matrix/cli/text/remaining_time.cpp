#include "matrix/cli/text/remaining_time.hpp"

#include <algorithm>

#include "matrix/cli/stored_runs.hpp"
#include "matrix/exec/repeats_left.hpp"
#include "matrix/record/attempt_files.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr int kMostRunsRead = 5;

// Mean over the attempts under a cell's folder; nothing if none left a record.
std::optional<std::chrono::nanoseconds> mean_of_attempts(const fs::path& cell) {
  std::int64_t sum_ns = 0;
  int attempts = 0;
  std::error_code ignored;
  for (const auto& attempt : fs::directory_iterator(cell, ignored)) {
    const auto record = read_exit_record(rank_folder(attempt.path(), 0));
    if (!record.value) continue;
    sum_ns += record.value->duration_ns;
    ++attempts;
  }
  if (attempts == 0) return std::nullopt;
  return std::chrono::nanoseconds(sum_ns / attempts);
}

// By cell id: how many take turns with it, itself included. They begin and end together, so each lasts as long as all.
std::map<std::string, std::int64_t> counts_of_residents(const Plan& plan) {
  std::map<std::string, std::int64_t> counts;
  for (const std::vector<std::size_t>& compared : compared_cells(plan)) {
    const auto takes_turns = [&](std::size_t index) { return plan.cells[index].cell.request.turn_steps > 0; };
    const auto count = std::ranges::count_if(compared, takes_turns);
    for (const std::size_t index : compared) {
      if (takes_turns(index)) counts[plan.cells[index].cell.request.cell_id] = count;
    }
  }
  return counts;
}

}  // namespace

AttemptDurations recorded_durations(const fs::path& store, const Plan& plan) {
  AttemptDurations durations;
  const auto residents = counts_of_residents(plan);
  const auto names = stored_run_names(store);
  for (auto name = names.rbegin(); name != names.rend() && name - names.rbegin() < kMostRunsRead; ++name) {
    for (const PlannedCell& planned : plan.cells) {
      const std::string& id = planned.cell.request.cell_id;
      if (planned.skip || durations.contains(id)) continue;
      const auto mean = mean_of_attempts(store / "runs" / *name / "cells" / id);
      const auto shared_with = residents.find(id);
      if (mean) durations.emplace(id, *mean / (shared_with == residents.end() ? 1 : shared_with->second));
    }
  }
  return durations;
}

RemainingTime::RemainingTime(const Plan& plan, const AttemptDurations& recorded) : recorded_(recorded) {
  double sum = 0;
  for (const auto& [id, duration] : recorded_) sum += static_cast<double>(duration.count());
  if (!recorded_.empty()) usual_ = sum / static_cast<double>(recorded_.size());
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.skip) all_ += planned.cell.repeat * expected(planned.cell.request.cell_id);
  }
}

void RemainingTime::attempt_ended(const std::string& cell_id) { done_ += expected(cell_id); }

void RemainingTime::attempts_added(const std::string& cell_id, int count) { all_ += count * expected(cell_id); }

std::optional<std::chrono::nanoseconds> RemainingTime::after(std::chrono::nanoseconds elapsed) const {
  const double left = std::max(0.0, all_ - done_);
  if (done_ > 0) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(elapsed.count()) * left / done_));
  }
  if (recorded_.empty()) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(left));
}

double RemainingTime::expected(const std::string& cell_id) const {
  const auto found = recorded_.find(cell_id);
  return found == recorded_.end() ? usual_ : static_cast<double>(found->second.count());
}

}  // namespace reprobench
