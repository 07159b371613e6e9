// The timers of one running attempt, and the stop sequence once one of them is over (reliability rules R2, R3). All
// limits count from when its ranks have started: time in a queue is no hang. They rest while it waits for a turn.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "matrix/evidence/attempt_judge.hpp"
#include "matrix/exec/launcher.hpp"
#include "matrix/plan/cell.hpp"

namespace reprobench {

class AttemptWatch {
 public:
  using Time = std::chrono::nanoseconds;

  // `queue_limit`: zero for none. An attempt that has not started by then ends as `launch`, which is not its stack's
  // fault.
  AttemptWatch(const TimeLimits& limits, int ranks, Time submitted, std::chrono::milliseconds queue_limit = {})
      : limits_(limits), queue_limit_(queue_limit), submitted_(submitted), ranks_(static_cast<std::size_t>(ranks)) {}

  void started(int rank, Time now);
  void heartbeat(int rank, Time now);
  void ended(int rank);

  // While it is another's turn no limit runs.
  void pause(Time now);
  void resume(Time now);
  bool is_paused() const { return paused_at_.has_value(); }

  // Begins the stop sequence; the first reason stays. `rank`: the one to blame, of several.
  void stop(AttemptEnd as, std::string detail, Time now, std::optional<int> rank = std::nullopt);

  // A rank has ended badly. The others have a moment to notice by themselves, then they are stopped.
  void stop_others(int rank, Time now);

  // `stop_now`: KILL at once.
  void kill_now(Time now);

  // The signal that is due, if any. TERM comes once, after the grace KILL once a second.
  std::optional<StopSignal> due_signal(Time now);

  // Looks at the limits; begins the stop sequence of an attempt that is over one.
  void check_limits(Time now);

  // Eight KILLs did not end it: nobody waits for it any longer.
  bool is_given_up(Time now) const;

  bool is_stopping() const { return next_signal_at_.has_value(); }
  const KnownEnd& known() const { return known_; }
  const std::string& detail() const { return detail_; }  // of the stop; empty where the files say it better

 private:
  struct Rank {
    std::optional<Time> started{};
    std::optional<Time> last_beat{};
    bool has_ended = false;
    Time last_sign() const { return last_beat.value_or(*started); }
  };

  bool has_started() const;
  void check_heartbeats(Time now);

  TimeLimits limits_;
  std::chrono::milliseconds queue_limit_;
  Time submitted_;
  std::vector<Rank> ranks_;
  std::optional<Time> paused_at_;
  Time paused_for_{0};
  KnownEnd known_;
  std::string detail_;
  std::optional<Time> next_signal_at_;
  bool term_sent_ = false;
  int kills_sent_ = 0;
};

}  // namespace reprobench
