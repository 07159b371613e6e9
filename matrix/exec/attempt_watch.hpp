// The timers of one running attempt, and the stop sequence once a limit has passed (reliability rules R2, R3). All
// limits count from the start of its ranks, because time in a queue is no hang. They rest while the attempt waits for a
// turn.
#pragma once

#include <chrono>
#include <functional>
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

  // `queue_limit` is zero for none. An attempt that has not started by then ends as `launch`, for which its stack is
  // not to blame.
  AttemptWatch(const TimeLimits& limits, int ranks, Time submitted, std::chrono::milliseconds queue_limit = {})
      : limits_(limits), queue_limit_(queue_limit), submitted_(submitted), ranks_(static_cast<std::size_t>(ranks)) {}

  void started(int rank, Time now);
  void heartbeat(int rank, Time now);
  void ended(int rank);

  // No limit runs while another attempt has its turn.
  void pause(Time now);
  void resume(Time now);
  bool is_paused() const { return paused_at_.has_value(); }

  // Begins the stop sequence; the first reason stays. `rank` is the one to blame, if there are several.
  void stop(AttemptEnd as, std::string detail, Time now, std::optional<int> rank = std::nullopt);

  // A rank has ended badly. The others have a moment to notice by themselves and are then stopped.
  void stop_others(int rank, Time now);

  // Makes KILL due at once, for Interrupt::stop_now.
  void kill_now(Time now);

  // The signal that is due, if any. TERM comes once, after the grace KILL once a second.
  std::optional<StopSignal> due_signal(Time now);

  // Checks the limits, and begins the stop sequence of an attempt that has passed one.
  // `stopped_ranks` is asked once ranks have been silent for too long: one that is stopped is why, whoever fell silent
  // first.
  void check_limits(Time now, const std::function<std::vector<int>()>& stopped_ranks = {});

  // True after eight KILLs that did not end it: nobody waits for it any longer.
  bool is_given_up(Time now) const;

  bool is_stopping() const { return next_signal_at_.has_value(); }
  const KnownEnd& known() const { return known_; }
  const std::string& detail() const { return detail_; }  // why it was stopped; empty if the files say it better

 private:
  struct Rank {
    std::optional<Time> started{};
    std::optional<Time> last_beat{};
    bool has_ended = false;
    Time last_sign() const { return last_beat.value_or(*started); }
  };

  bool has_started() const;
  void check_heartbeats(Time now, const std::function<std::vector<int>()>& stopped_ranks);

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
