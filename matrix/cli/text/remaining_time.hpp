// How long a run will still take, by the times of its cells' attempts in earlier runs.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "matrix/plan/plan.hpp"

namespace reprobench {

// By cell id.
using AttemptDurations = std::map<std::string, std::chrono::nanoseconds>;

// For every cell of the plan, the mean time of its attempts in the newest run of the store that has any. Attempts that
// take turns share that time. A file that cannot be read is passed over.
AttemptDurations recorded_durations(const std::filesystem::path& store, const Plan& plan);

class RemainingTime {
 public:
  // Attempts of cells without a record are taken to last as long as the mean of the others.
  RemainingTime(const Plan& plan, const AttemptDurations& recorded);

  void attempt_ended(const std::string& cell_id);
  void attempts_added(const std::string& cell_id, int count);

  // The time for the work that is left, at the pace so far. Before any attempt has ended, attempts count as if one ran
  // after the other. Nothing if nothing is known.
  std::optional<std::chrono::nanoseconds> after(std::chrono::nanoseconds elapsed) const;

 private:
  double expected(const std::string& cell_id) const;

  AttemptDurations recorded_;
  double usual_ = 1;  // of a cell without a record; without any record every attempt counts alike
  double all_ = 0;
  double done_ = 0;
};

}  // namespace reprobench
