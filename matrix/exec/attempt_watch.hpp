// The timers of one running attempt, and the stop sequence once one of them is over (reliability rules R2, R3).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "matrix/contract/outcome.hpp"
#include "matrix/exec/launcher.hpp"
#include "matrix/plan/cell.hpp"

namespace reprobench {

class AttemptWatch {
 public:
  using Time = std::chrono::nanoseconds;

  AttemptWatch(const TimeLimits& limits, Time started) : limits_(limits), started_(started), last_beat_(started) {}

  void heartbeat(Time now);

  // Begins the stop sequence; the first reason stays.
  void stop(AttemptEnd as, std::string detail, Time now);

  // `stop_now`: KILL at once.
  void kill_now(Time now);

  // The signal that is due, if any. TERM comes once, after the grace KILL once a second.
  std::optional<StopSignal> due_signal(Time now);

  // Looks at the limits; begins the stop sequence of an attempt that is over one.
  void check_limits(Time now);

  // Eight KILLs did not end it: nobody waits for it any longer.
  bool is_given_up(Time now) const;

  std::optional<AttemptEnd> stopped_as() const { return stopped_as_; }
  const std::string& detail() const { return detail_; }

 private:
  TimeLimits limits_;
  Time started_;
  Time last_beat_;
  bool has_beaten_ = false;
  std::optional<AttemptEnd> stopped_as_;
  std::string detail_;
  std::optional<Time> next_signal_at_;
  bool term_sent_ = false;
  int kills_sent_ = 0;
};

}  // namespace reprobench
