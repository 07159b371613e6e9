// The seam between scheduling and processes: what the executor asks of whatever runs an attempt. Tests hand in a
// FakeLauncher.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"

namespace reprobench {

// One process tree to start.
struct LaunchRequest {
  CellRequest request;
  std::filesystem::path folder;                    // the attempt's; request.json is there
  std::vector<std::string> command;                // worker binary and arguments
  std::map<std::string, std::string> environment;  // complete: built from empty
};

using AttemptHandle = std::int64_t;

struct LaunchEvent {
  enum class Kind {
    ended,      // the tree is gone and exit.json is written, or never will be
    heartbeat,  // the trace grew
  };
  AttemptHandle handle = 0;
  Kind kind = Kind::ended;
};

enum class StopSignal { terminate, kill };

class Launcher {
 public:
  virtual ~Launcher() = default;

  // Starts the tree. Throws std::system_error if not even the shepherd could be started.
  virtual AttemptHandle start(const LaunchRequest& request) = 0;

  // Sends a signal to the whole tree. Safe for a tree that has ended.
  virtual void stop(AttemptHandle handle, StopSignal signal) = 0;

  // Waits at most `timeout` for something to happen; also returns early when a user signal arrived.
  virtual std::vector<LaunchEvent> wait(std::chrono::milliseconds timeout) = 0;
};

}  // namespace reprobench
