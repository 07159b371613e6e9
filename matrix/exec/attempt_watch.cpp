#include "matrix/exec/attempt_watch.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {
namespace {

constexpr std::chrono::seconds kKillInterval{1};
constexpr int kMostKills = 8;
constexpr std::chrono::milliseconds kSilentTogether{300};  // three looks of the launcher at the traces
constexpr std::chrono::seconds kMomentForOthers{1};        // a rank that lost its peer says so by itself, mostly

double seconds(std::chrono::duration<double> duration) { return duration.count(); }

}  // namespace

void AttemptWatch::started(int rank, Time now) { ranks_[static_cast<std::size_t>(rank)].started = now; }

void AttemptWatch::heartbeat(int rank, Time now) { ranks_[static_cast<std::size_t>(rank)].last_beat = now; }

void AttemptWatch::ended(int rank) { ranks_[static_cast<std::size_t>(rank)].has_ended = true; }

void AttemptWatch::pause(Time now) {
  if (!paused_at_) paused_at_ = now;
}

void AttemptWatch::resume(Time now) {
  if (!paused_at_) return;
  paused_for_ += now - *paused_at_;
  paused_at_.reset();
  for (Rank& rank : ranks_) rank.last_beat = now;
}

void AttemptWatch::stop(AttemptEnd as, std::string detail, Time now, std::optional<int> rank) {
  if (is_stopping()) return;
  known_ = {as, rank};
  detail_ = std::move(detail);
  if (rank && ranks_.size() > 1 && !detail_.empty()) detail_ = fmt::format("rank {}: {}", *rank, detail_);
  next_signal_at_ = now;
}

void AttemptWatch::stop_others(int rank, Time now) {
  if (is_stopping()) return;
  known_ = {std::nullopt, rank};
  next_signal_at_ = now + kMomentForOthers;
}

void AttemptWatch::kill_now(Time now) {
  if (term_sent_ && kills_sent_ > 0) return;
  term_sent_ = true;
  next_signal_at_ = now;
}

bool AttemptWatch::has_started() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.started.has_value(); });
}

void AttemptWatch::check_limits(Time now, const std::function<std::vector<int>()>& stopped_ranks) {
  if (is_stopping() || paused_at_) return;
  if (!has_started()) {
    if (queue_limit_.count() > 0 && now - submitted_ > queue_limit_) {
      stop(AttemptEnd::launch, fmt::format("not started within the queue limit of {} s", seconds(queue_limit_)), now);
    }
    return;
  }
  const auto last_start = std::max_element(ranks_.begin(), ranks_.end(),
                                           [](const Rank& a, const Rank& b) { return *a.started < *b.started; });
  if (now - *last_start->started - paused_for_ > limits_.total) {
    stop(AttemptEnd::timeout, fmt::format("no end within the limit of {} s", seconds(limits_.total)), now);
    return;
  }
  check_heartbeats(now, stopped_ranks);
}

// Ranks wait for each other, so one that hangs silences all. The first to fall silent is named, but only if it was
// alone by more than heartbeats resolve: otherwise their traces do not tell which of them hangs.
void AttemptWatch::check_heartbeats(Time now, const std::function<std::vector<int>()>& stopped_ranks) {
  const auto last_start = std::max_element(ranks_.begin(), ranks_.end(),
                                           [](const Rank& a, const Rank& b) { return *a.started < *b.started; });
  const Rank* silent = nullptr;
  for (const Rank& rank : ranks_) {
    if (rank.has_ended) continue;
    const Time since = rank.last_beat.value_or(*last_start->started);
    if (now - since <= (rank.last_beat ? limits_.heartbeat_gap : limits_.first_heartbeat)) continue;
    if (silent == nullptr || rank.last_sign() < silent->last_sign()) silent = &rank;
  }
  if (silent == nullptr) return;
  const bool is_alone = std::none_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
    return &rank != silent && !rank.has_ended && rank.last_sign() - silent->last_sign() < kSilentTogether;
  });
  const std::string what = silent->last_beat
                               ? fmt::format("no heartbeat for {} s", seconds(limits_.heartbeat_gap))
                               : fmt::format("no first heartbeat within {} s", seconds(limits_.first_heartbeat));
  const std::vector<int> stopped = stopped_ranks ? stopped_ranks() : std::vector<int>{};
  if (!stopped.empty()) {
    stop(AttemptEnd::hang, what + ": a process of it is stopped (SIGSTOP or a debugger)", now, stopped.front());
  } else if (is_alone) {
    stop(AttemptEnd::hang, what, now, static_cast<int>(silent - ranks_.data()));
  } else {
    stop(AttemptEnd::hang, what + ", several ranks fell silent together", now);
  }
}

std::optional<StopSignal> AttemptWatch::due_signal(Time now) {
  if (!next_signal_at_ || now < *next_signal_at_) return std::nullopt;
  if (!term_sent_) {
    term_sent_ = true;
    next_signal_at_ = now + limits_.grace;
    return StopSignal::terminate;
  }
  if (kills_sent_ == kMostKills) return std::nullopt;
  ++kills_sent_;
  next_signal_at_ = now + kKillInterval;
  return StopSignal::kill;
}

bool AttemptWatch::is_given_up(Time now) const {
  return kills_sent_ == kMostKills && next_signal_at_ && now >= *next_signal_at_;
}

}  // namespace reprobench
