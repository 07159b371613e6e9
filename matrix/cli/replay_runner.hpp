// Runs replays: cells of a small plan of their own, through the same executor and into a run directory of the same kind
// as any run, under STORE/replays.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "matrix/cli/project.hpp"
#include "matrix/cli/terminal.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/exec/executor.hpp"

namespace reprobench {

// A replay that did not end well; the sentence says which, how, and where its logs are.
class ReplayFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ReplayTask {
  std::string purpose;  // unique among the tasks of a call: "a-operators"
  CellRequest request;  // `replay` set; `inject` is planted; cell_id is given by the runner
};

struct ReplayOutcome {
  std::filesystem::path folder;  // of the attempt, absolute
  AttemptRecord attempt;         // with its trace, if it came to a result
};

// Throws ReplayFailed.
void require_completed(const ReplayTask& task, const ReplayOutcome& outcome);

class ReplayRunner {
 public:
  // `workers` by stack.
  ReplayRunner(const Project& project, std::map<std::string, WorkerCommand> workers, const Terminal& terminal);

  // Runs all tasks, `jobs` at a time, and returns their outcomes in order. Throws ReplayFailed if one was not started
  // or did not complete; StoreError.
  std::vector<ReplayOutcome> run(const std::vector<ReplayTask>& tasks, int jobs = 2);

  // The same for tasks that may end in any way.
  std::vector<ReplayOutcome> run_to_any_end(const std::vector<ReplayTask>& tasks, int jobs = 2);

  // Removes what the replays so far have left. Without it everything stays under STORE/replays.
  void remove_files();
  void remove_latest();  // of the last call alone

 private:
  const Project& project_;
  std::map<std::string, WorkerCommand> workers_;
  const Terminal& terminal_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace reprobench
