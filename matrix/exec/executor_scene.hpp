// Shared by the tests of the executor: one execution on fakes, and small plans.
#pragma once

#include "ci/catch.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/exec/fake_launcher.hpp"
#include "matrix/exec/sample_plan.hpp"

namespace reprobench {

// One execution on fakes: its inputs are public members, and run() returns the records.
struct ExecutorScene {
  explicit ExecutorScene(std::vector<FakeAttempt> scripts) : launcher(clock, std::move(scripts)) {}

  std::vector<CellRecord> run(const Plan& plan) {
    std::map<std::string, WorkerCommand> workers;
    for (const PlannedCell& planned : plan.cells) workers[planned.cell.request.stack] = {{"/worker"}, {}, {}};
    RunDirectory directory = sample_run(store.path, plan);
    options.interrupt = &interrupt;
    return execute(plan, workers, launcher, clock, directory, options, observer);
  }

  TemporaryFolder store;
  FakeClock clock;
  FakeLauncher launcher;
  std::atomic<int> interrupt{0};
  ExecutionOptions options;
  ExecutionObserver observer;
};

inline Plan two_cells() { return sample_plan({sample_cell("aaa", "stack-a"), sample_cell("bbb", "stack-b")}); }

inline std::vector<std::string> stacks_started(const FakeLauncher& launcher) {
  std::vector<std::string> stacks;
  for (const LaunchRequest& request : launcher.started) {
    stacks.push_back(request.ranks[0].request.stack + "/" + std::to_string(request.ranks[0].request.repeat));
  }
  return stacks;
}

}  // namespace reprobench
