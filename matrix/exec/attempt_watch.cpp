#include "matrix/exec/attempt_watch.hpp"

#include <fmt/format.h>

namespace reprobench {
namespace {

constexpr std::chrono::seconds kKillInterval{1};
constexpr int kMostKills = 8;

double seconds(std::chrono::milliseconds duration) { return static_cast<double>(duration.count()) / 1000; }

}  // namespace

void AttemptWatch::heartbeat(Time now) {
  has_beaten_ = true;
  last_beat_ = now;
}

void AttemptWatch::stop(AttemptEnd as, std::string detail, Time now) {
  if (stopped_as_) return;
  stopped_as_ = as;
  detail_ = std::move(detail);
  next_signal_at_ = now;
}

void AttemptWatch::kill_now(Time now) {
  if (term_sent_ && kills_sent_ > 0) return;
  term_sent_ = true;
  next_signal_at_ = now;
}

void AttemptWatch::check_limits(Time now) {
  if (stopped_as_) return;
  if (now - started_ > limits_.total) {
    stop(AttemptEnd::timeout, fmt::format("no end within the limit of {} s", seconds(limits_.total)), now);
  } else if (!has_beaten_ && now - started_ > limits_.first_heartbeat) {
    stop(AttemptEnd::hang, fmt::format("no first heartbeat within {} s", seconds(limits_.first_heartbeat)), now);
  } else if (has_beaten_ && now - last_beat_ > limits_.heartbeat_gap) {
    stop(AttemptEnd::hang, fmt::format("no heartbeat for {} s", seconds(limits_.heartbeat_gap)), now);
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
