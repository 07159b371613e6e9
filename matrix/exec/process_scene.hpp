// Real process trees for the tests of this layer: the shepherd, the fake worker, and which of them are alive.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "ci/catch.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/exec/sample_plan.hpp"
#include "matrix/record/plain_file.hpp"

namespace reprobench {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline const std::filesystem::path kShepherd = std::filesystem::path(REPROBENCH_BINARY_DIR) / "reprobench-shepherd";
inline const std::string kFakeWorker = std::string(REPROBENCH_BINARY_DIR) + "/reprobench-fake-worker";

// Processes whose command line names `needle`, by id.
inline std::vector<pid_t> processes_naming(const std::string& needle) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == getpid()) continue;
    const auto read = read_plain_file(entry.path() / "cmdline", 1 << 20);  // nothing of one that has just ended
    const auto* command = std::get_if<std::string>(&read);
    if (command != nullptr && command->find(needle) != std::string::npos) found.push_back(pid);
  }
  return found;
}

template <class Condition>
bool becomes_true(Condition condition) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

// A run of cells. The name of a cell's stack is what the fake worker does there.
struct ProcessScene {
  explicit ProcessScene(std::filesystem::path kernel_root = "/")
      : launcher(kShepherd, 4 << 20, std::move(kernel_root)) {}

  std::vector<CellRecord> run(const std::vector<std::string>& behaviours) {
    std::vector<Cell> cells;
    for (const std::string& behaviour : behaviours) {
      Cell cell = sample_cell("cell-" + std::to_string(cells.size()), behaviour);
      cell.limits = limits;
      cell.request.trace = level;
      if (steps > 0) cell.request.workload.steps = steps;
      cells.push_back(std::move(cell));
      workers.emplace(behaviour, WorkerCommand{{kFakeWorker}, {"--do", behaviour}, {}});
    }
    const Plan plan = sample_plan(std::move(cells));
    RunDirectory directory = sample_run(store.path, plan);
    folder = directory.folder();
    options.infra_retries = 0;
    return execute(plan, workers, launcher, clock, directory, options, observer);
  }

  // The end of a cell that does this. Afterwards another cell has still been completed, and no process is left.
  AttemptRecord end_of(const std::string& behaviour) {
    const auto records = run({behaviour, "ok"});
    REQUIRE(records.size() == 2);
    REQUIRE(records[0].attempts.size() == 1);
    REQUIRE(records[1].attempts.size() == 1);
    CHECK(records[1].attempts[0].end == AttemptEnd::completed);
    CHECK(processes_naming(folder.string()).empty());
    return records[0].attempts[0];
  }

  std::filesystem::path file_of(const AttemptRecord& attempt, const char* name) const {
    return folder / attempt.lead().folder / name;
  }

  TraceLevel level = TraceLevel::step;
  std::int64_t steps = 0;  // 0: as many as in the sample
  TemporaryFolder store;
  std::filesystem::path folder;
  TimeLimits limits{seconds(20), seconds(20), seconds(20), milliseconds(300)};
  std::map<std::string, WorkerCommand> workers;
  LocalLauncher launcher;
  MonotonicClock clock;
  ExecutionOptions options;
  ExecutionObserver observer;
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace reprobench
