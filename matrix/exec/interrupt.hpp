// Ctrl-C and similar signals as a number that the executor polls: once to finish cleanly, twice to stop now.
#pragma once

#include <atomic>

namespace reprobench {

// Counts SIGINT, SIGTERM and SIGHUP while it lives, and restores the handlers afterwards. A handler inside another, as
// in a run's replays, continues its count.
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
