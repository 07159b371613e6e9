#include "matrix/cli/text/remaining_time.hpp"

#include <algorithm>

#include "matrix/cli/stored_runs.hpp"
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

}  // namespace

AttemptDurations recorded_durations(const fs::path& store, const Plan& plan) {
  AttemptDurations durations;
  const auto names = stored_run_names(store);
  for (auto name = names.rbegin(); name != names.rend() && name - names.rbegin() < kMostRunsRead; ++name) {
    for (const PlannedCell& planned : plan.cells) {
      const std::string& id = planned.cell.request.cell_id;
      if (planned.skip || durations.contains(id)) continue;
      if (const auto mean = mean_of_attempts(store / "runs" / *name / "cells" / id)) durations.emplace(id, *mean);
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
