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

#include "matrix/contract/outcome.hpp"
#include "matrix/contract/request.hpp"

namespace reprobench {

// One process tree to start.
struct LaunchRequest {
  CellRequest request;
  std::filesystem::path folder;                    // the attempt's; request.json is there; the worker starts in it
  std::vector<std::string> command;                // worker binary and arguments; their paths are absolute
  std::map<std::string, std::string> environment;  // complete: built from empty
  std::chrono::milliseconds grace{10'000};         // between TERM and KILL, should the runner die meanwhile
};

using AttemptHandle = std::int64_t;

struct LaunchEvent {
  enum class Kind {
    ended,      // the tree is gone and exit.json is written, or never will be
    heartbeat,  // the trace grew
  };
  AttemptHandle handle = 0;
  Kind kind = Kind::ended;
  std::optional<AttemptEnd> cause;  // of an end: `store` if exit.json could not be written; else the files say it
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
