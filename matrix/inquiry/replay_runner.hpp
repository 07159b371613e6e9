// Replays as cells of a small plan of their own, through the same executor and into a run directory of the same kind as
// any run, under STORE/replays.
#pragma once

#include <map>

#include "matrix/exec/executor.hpp"
#include "matrix/inquiry/replays.hpp"

namespace reprobench {

struct ReplayPlace {
  std::filesystem::path store;
  HostFacts host;
  std::map<std::string, WorkerCommand> workers;  // by stack
  int jobs = 2;                                  // at a time
};

class ReplayRunner : public Replays {
 public:
  ReplayRunner(ReplayPlace place, Launcher& launcher, const Clock& clock);

  std::vector<ReplayOutcome> run_to_any_end(const std::vector<ReplayTask>& tasks) override;
  void remove_files() override;
  void remove_latest() override;

 private:
  ReplayPlace place_;
  Launcher& launcher_;
  const Clock& clock_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace reprobench
