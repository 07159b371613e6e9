// The seam between scheduling and processes: the interface by which the executor runs attempts, on this machine or in
// the queue of a batch system. Tests pass a FakeLauncher.
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
#include "matrix/exec/enclosed_command.hpp"
#include "matrix/exec/memory_kills.hpp"

namespace reprobench {

// One process tree to start.
struct RankLaunch {
  CellRequest request;                             // with its rank
  std::filesystem::path folder;                    // the rank's; it has request.json, and the worker starts in it
  std::vector<std::string> command;                // worker binary and arguments; their paths are absolute
  std::map<std::string, std::string> environment;  // complete: built from empty
  std::optional<Enclosure> enclosure{};            // what it runs inside; nothing: on this host itself
};

// One attempt: process trees that start, and are stopped, together.
struct LaunchRequest {
  std::vector<RankLaunch> ranks;            // rank N at [N]; at least one
  std::chrono::milliseconds grace{10'000};  // between TERM and KILL, if the runner dies meanwhile
};

using AttemptHandle = std::int64_t;

struct LaunchEvent {
  enum class Kind {
    started,    // the rank's worker runs; until then it waits in a queue, for any time
    heartbeat,  // the rank's trace grew
    ended,      // the rank's tree is gone and exit.json is written, or never will be
  };
  AttemptHandle handle = 0;
  int rank = 0;
  Kind kind = Kind::ended;
  std::optional<AttemptEnd> cause{};  // for an end: `store` if exit.json could not be written; else the files tell it
  MemoryKills memory_kills{};         // for an end: while the rank ran, in its group or on its host
};

enum class StopSignal { terminate, kill };

class Launcher {
 public:
  virtual ~Launcher() = default;

  // Starts the trees, or queues them. Throws std::system_error if that is not possible; then none of them lives.
  virtual AttemptHandle start(const LaunchRequest& request) = 0;

  // Sends a signal to the trees of all ranks, or takes them out of the queue. Safe if they have ended.
  virtual void stop(AttemptHandle handle, StopSignal signal) = 0;

  // Waits at most `timeout` for an event; also returns early if a signal of the user arrived. Every rank has one
  // `started` before its other events, unless it ends in the queue, and one `ended`.
  virtual std::vector<LaunchEvent> wait(std::chrono::milliseconds timeout) = 0;

  // Ranks of which a process is stopped by a signal or a debugger now, as far as this launcher can see.
  virtual std::vector<int> stopped_ranks(AttemptHandle) const { return {}; }
};

}  // namespace reprobench
