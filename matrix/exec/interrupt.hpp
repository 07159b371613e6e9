// Ctrl-C and its kin as a number the executor polls: once to finish cleanly, twice to stop now.
#pragma once

#include <atomic>

namespace reprobench {

// Counts SIGINT, SIGTERM and SIGHUP while it lives and restores the handlers afterwards. One within another, as a run's
// replays have it, counts on with it.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

  const std::atomic<int>& count() const;
  bool was_terminated() const;  // the first signal was TERM or HUP, not Ctrl-C
};

}  // namespace reprobench
