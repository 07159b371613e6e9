// Runs attempts as local process trees, each rank under a reprobench-shepherd that owns, reaps and reports it.
#pragma once

#include <memory>

#include "matrix/exec/launcher.hpp"

namespace reprobench {

class LocalLauncher : public Launcher {
 public:
  // `shepherd` is the path of the reprobench-shepherd binary. `log_cap_bytes` limits what is kept of stdout, and of
  // stderr. `root` is where the kernel's counters are read, `/` but in tests.
  explicit LocalLauncher(std::filesystem::path shepherd, std::int64_t log_cap_bytes = 4 << 20,
                         std::filesystem::path root = "/");
  ~LocalLauncher() override;

  AttemptHandle start(const LaunchRequest& request) override;
  void stop(AttemptHandle handle, StopSignal signal) override;
  std::vector<LaunchEvent> wait(std::chrono::milliseconds timeout) override;
  std::vector<int> stopped_ranks(AttemptHandle handle) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprobench
