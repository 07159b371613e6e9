// Replays on this host, by the stacks' workers under the shepherd, with files in the project's store.
#pragma once

#include "matrix/cli/project.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/exec/memory_question.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/inquiry/replay_runner.hpp"

namespace reprobench {

class ReplayHost {
 public:
  ReplayHost(const Project& project, std::map<std::string, WorkerCommand> workers, bool keeps_files = false)
      : launcher_(project.shepherd()), replays_(place(project, std::move(workers), keeps_files), launcher_, clock_) {}
  ReplayHost(const ReplayHost&) = delete;
  ReplayHost& operator=(const ReplayHost&) = delete;

  Replays& replays() { return replays_; }

 private:
  static ReplayPlace place(const Project& project, std::map<std::string, WorkerCommand> workers, bool keeps_files) {
    ReplayPlace here;
    here.store = project.store();
    here.host = detect_host();
    here.workers = std::move(workers);
    here.keeps_files = keeps_files;
    here.predict = [](const CellRequest& request, const WorkerCommand& worker) {
      return predicted_needs({request}, worker).front();
    };
    return here;
  }

  LocalLauncher launcher_;
  MonotonicClock clock_;
  ReplayRunner replays_;
};

}  // namespace reprobench
