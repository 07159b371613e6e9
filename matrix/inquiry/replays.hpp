// The interface under every question that runs something again: some steps of a cell once more, with more on record.
// Tests use ScriptedReplays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// Thrown for a replay that did not end well. The sentence says which one, how it ended, and where its logs are.
class ReplayFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown when the user asked to stop while a replay ran. No further replay is started.
class ReplayInterrupted : public std::runtime_error {
 public:
  explicit ReplayInterrupted(bool was_terminated);
  bool was_terminated() const { return was_terminated_; }  // by TERM or HUP, not by Ctrl-C

 private:
  bool was_terminated_;
};

// Shows one line about the current work to whoever waits; an empty line means that it is done.
using Announce = std::function<void(const std::string&)>;

struct ReplayTask {
  std::string purpose;  // unique among the tasks of a call: "a-operators"
  CellRequest
      request;  // `replay` set, or nothing for the whole cell; `inject` is planted; cell_id is given by the runner
  std::int64_t state_bytes = 0;  // memory that weights, gradients and optimizer take, as far as that is known
};

struct ReplayOutcome {
  std::filesystem::path folder;  // of the attempt, absolute
  AttemptRecord attempt;         // with the trace of each rank that came to a result
};

// Throws ReplayFailed.
void require_completed(const ReplayTask& task, const ReplayOutcome& outcome);

class Replays {
 public:
  virtual ~Replays() = default;

  // Runs all tasks side by side, or one after the other where memory does not hold them at once, and returns their
  // outcomes in order, however they ended. Throws ReplayFailed if one was not started; ReplayInterrupted; StoreError.
  virtual std::vector<ReplayOutcome> run_to_any_end(const std::vector<ReplayTask>& tasks) = 0;

  // Removes the files of all replays, or of the latest call's. The logs of a replay that did not end well stay.
  virtual void remove_files() = 0;
  virtual void remove_latest() = 0;

  // The number of calls whose files are still there.
  virtual std::size_t calls_left() const = 0;

  // The same as run_to_any_end for tasks that must complete: throws ReplayFailed for the first that did not.
  std::vector<ReplayOutcome> run(const std::vector<ReplayTask>& tasks);
};

}  // namespace reprobench
