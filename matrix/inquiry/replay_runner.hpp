// Replays as cells of a small plan of their own, through the same executor and into a run directory of the same kind as
// any run, under STORE/replays.
#pragma once

#include <functional>
#include <map>

#include "matrix/base/available_memory.hpp"
#include "matrix/contract/attempt_memory.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/inquiry/replays.hpp"

namespace reprobench {

struct ReplayPlace {
  std::filesystem::path store;
  HostFacts host;
  std::map<std::string, WorkerCommand> workers;  // by stack
  int jobs = 2;                                  // at a time, if memory holds them
  std::function<std::int64_t()> available_bytes = &available_memory_bytes;
  // The memory that a task will take, by its stack's worker. If it is empty, no worker is asked.
  std::function<AttemptMemory(const CellRequest&, const WorkerCommand&)> predict{};
  bool keeps_files = false;  // whether the replays' files stay when the runner is done; gigabytes for a large model
};

class ReplayRunner : public Replays {
 public:
  ReplayRunner(ReplayPlace place, Launcher& launcher, const Clock& clock);
  ReplayRunner(const ReplayRunner&) = delete;
  ReplayRunner& operator=(const ReplayRunner&) = delete;
  ~ReplayRunner() override;

  std::vector<ReplayOutcome> run_to_any_end(const std::vector<ReplayTask>& tasks) override;
  void remove_files() override;
  void remove_latest() override;
  std::size_t calls_left() const override { return left_.size(); }

 private:
  const AttemptMemory& need_of(const ReplayTask& task);
  std::vector<AttemptMemory> needs_of(const std::vector<ReplayTask>& tasks);
  bool fit_at_once(const std::vector<ReplayTask>& tasks, const std::vector<AttemptMemory>& needs) const;

  ReplayPlace place_;
  Launcher& launcher_;
  const Clock& clock_;
  struct Left {
    std::filesystem::path folder;
    bool has_failed = false;  // one of its replays: whoever is told where its logs are must find them
  };
  std::vector<Left> left_;
  std::map<std::string, std::int64_t> peak_bytes_;  // the largest seen, by workload
  std::map<std::string, AttemptMemory> needs_;      // by question
};

}  // namespace reprobench
