// The course of a run on stderr: a status line on a terminal, one line a finished cell elsewhere and above it.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "matrix/cli/text/remaining_time.hpp"
#include "matrix/cli/text/terminal.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

class RunProgress {
 public:
  RunProgress(const Plan& plan, const AttemptDurations& recorded, const Terminal& terminal);

  // Callbacks for execute(); they refer to this object.
  ExecutionObserver observer();

  // A cell that all its repeats completed and a check fails.
  void check_failed(const CellVerdict& cell);

  // A cell that noise leaves undecided; what is added for it is told by the executor.
  void left_open(const CellVerdict& cell);

 private:
  void attempt_started(const Cell& cell, const CellRequest& request);
  void attempt_ended(const Cell& cell, const AttemptRecord& attempt);
  void cell_ended(const Cell& cell, const CellRecord& record);
  void repeats_added(const Cell& cell, const FurtherRepeats& added);
  void redraw() const;

  const Terminal& terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  RemainingTime remaining_;
  int cells_ = 0;
  int cells_done_ = 0;
  int attempts_ = 0;
  int attempts_done_ = 0;
  int attempts_failed_ = 0;
  std::map<std::string, std::string> running_;  // nonce -> what
};

// "[3/8] ETA 1m20s " for whoever waits for pairs of which `done` took `elapsed`.
std::string pair_progress_text(std::size_t done, std::size_t all, std::chrono::nanoseconds elapsed);

// "1h08m", "2m14s", "3.2s"
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace reprobench
