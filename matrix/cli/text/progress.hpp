// The progress of a run on stderr. Each finished cell gets a line; a terminal also gets a status line below these.
#pragma once

#include <chrono>
#include <map>
#include <set>
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

  // Shows a cell whose repeats all completed and of which a check fails.
  void check_failed(const CellVerdict& cell);

  // Shows a cell that noise leaves undecided. The executor reports the repeats that are added for it.
  void left_open(const CellVerdict& cell);

 private:
  void attempt_started(const Cell& cell, const CellRequest& request);
  void attempt_ended(const Cell& cell, const AttemptRecord& attempt);
  void cell_ended(const Cell& cell, const CellRecord& record);
  void repeats_added(const Cell& cell, const FurtherRepeats& added);
  void read_anew(const std::set<std::string>& stacks, const ReadAnew& read);
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

// "[3/8] ETA 1m20s " for somebody who waits for pairs, of which `done` took `elapsed`.
std::string pair_progress_text(std::size_t done, std::size_t all, std::chrono::nanoseconds elapsed);

// "1h08m", "2m14s", "3.2s"
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace reprobench
