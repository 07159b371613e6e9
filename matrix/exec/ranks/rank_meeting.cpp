#include "matrix/exec/ranks/rank_meeting.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kMeetingSlice{50};
constexpr milliseconds kMomentToBeTold{10'000};  // for ranks that start later than rank 0 found that it cannot

void wait_for(const std::vector<pollfd>& descriptors) {
  std::vector<pollfd> polled = descriptors;
  poll(polled.data(), polled.size(), static_cast<int>(kMeetingSlice.count()));
}

RankMessage leave(ExitCode code, const std::string& why) {
  RankMessage message{RankMessageKind::finish};
  message.exit_code = static_cast<int>(code);
  message.text = why;
  return message;
}

}  // namespace

RankMeeting::RankMeeting(const OuterRank& self)
    : listener_(listen_for_ranks(self.launch)), others_(static_cast<std::size_t>(self.ranks - 1)) {}

bool RankMeeting::is_complete() const {
  return std::all_of(others_.begin(), others_.end(), [](const RankChannel& other) { return other.is_open(); });
}

void RankMeeting::take(RankChannel newcomer, const RankMessage& join) {
  const auto refuse = [&](const std::string& why) {
    newcomer.send_last(leave(ExitCode::usage, why));
    throw UsageError(why);
  };
  const pid_t pid = newcomer.peer();
  if (join.kind != RankMessageKind::join || join.version != kProjectVersion) {
    refuse(fmt::format("--join: process {} is reprobench {}, rank 0 is {}", pid, join.version, kProjectVersion));
  }
  if (join.ranks != ranks() || join.rank < 1 || join.rank >= ranks()) {
    refuse(
        fmt::format("--join: process {} is rank {} of {}, and rank 0 one of {}", pid, join.rank, join.ranks, ranks()));
  }
  if (RankChannel& there = other(join.rank); there.is_open()) {
    refuse(fmt::format("--join: rank {} is there twice, processes {} and {}", join.rank, there.peer(), pid));
  } else {
    there = std::move(newcomer);
  }
}

void RankMeeting::come_together(Steady::time_point deadline) {
  while (!is_complete() && Steady::now() < deadline) {
    std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
    for (const RankChannel& unnamed : unnamed_) polled.push_back({unnamed.descriptor(), POLLIN, 0});
    wait_for(polled);
    while (auto newcomer = accept_rank(listener_)) unnamed_.push_back(std::move(*newcomer));
    for (std::size_t i = 0; i < unnamed_.size();) {
      const auto said = unnamed_[i].receive();
      if (unnamed_[i].is_open() && !said) {
        ++i;
        continue;
      }
      RankChannel newcomer = std::move(unnamed_[i]);
      unnamed_.erase(unnamed_.begin() + static_cast<std::ptrdiff_t>(i));
      if (said) take(std::move(newcomer), *said);
    }
  }
}

void RankMeeting::gather(milliseconds patience) {
  gathered_until_ = Steady::now() + patience;
  come_together(*gathered_until_);
  has_gathered_ = is_complete();
  if (has_gathered_) return;
  std::string missing;
  for (int rank = 1; rank < ranks(); ++rank) {
    if (!other(rank).is_open()) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
  }
  throw UsageError(fmt::format("--join: of {} ranks these did not come within {} s: {}", ranks(),
                               static_cast<double>(patience.count()) / 1e3, missing));
}

void RankMeeting::refuse_latecomers() {
  while (auto newcomer = accept_rank(listener_)) {
    newcomer->send_last(leave(ExitCode::usage, "--join: all ranks of this launch are there already"));
  }
}

void RankMeeting::wait_for_those_to_tell() {
  const auto moment = Steady::now() + kMomentToBeTold;
  const auto deadline = gathered_until_ ? std::min(*gathered_until_, moment) : moment;
  for (;;) {
    try {
      return come_together(deadline);
    } catch (const UsageError&) {  // that one has been told, others are still to come
    }
  }
}

void RankMeeting::finish(ExitCode code, const std::string& why) {
  const bool was_complete = has_gathered_;
  if (!was_complete) wait_for_those_to_tell();
  // Nobody gets through the door any more, and whoever stands in it is told too: closed unheard, it would take this
  // process for one that has died.
  shutdown(listener_.get(), SHUT_RD);
  if (was_complete) refuse_latecomers();
  while (auto newcomer = accept_rank(listener_)) unnamed_.push_back(std::move(*newcomer));
  for (RankChannel& other : others_) other.send_last(leave(code, why));
  for (RankChannel& unnamed : unnamed_) unnamed.send_last(leave(code, why));
}

}  // namespace reprobench
