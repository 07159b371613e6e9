// The work of a rank other than 0 for a run that was joined (rank_meeting.hpp).
#include <map>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <poll.h>

#include "matrix/contract/version.hpp"
#include "matrix/exec/ranks/rank_meeting.hpp"

namespace reprobench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenTries{50};
constexpr milliseconds kReaction{20};

std::optional<RankChannel> find_rank_0(const std::string& launch, Steady::time_point deadline,
                                       const std::atomic<int>& interrupts) {
  for (;;) {
    if (auto channel = connect_to_rank_0(launch)) return channel;
    if (Steady::now() >= deadline || interrupts > 0) return std::nullopt;
    std::this_thread::sleep_for(kBetweenTries);
  }
}

class RankService {
 public:
  RankService(Launcher& own, RankChannel& channel) : own_(own), channel_(channel) {}

  void launch(const RankMessage& order) {
    RankLaunch rank;
    rank.request.rank = order.rank;
    rank.request.nonce = order.nonce;
    rank.folder = order.folder;
    rank.command = order.command;
    rank.environment = order.environment;
    LaunchRequest request;
    request.grace = milliseconds(order.grace_ms);
    request.ranks.push_back(std::move(rank));
    try {
      handles_[own_.start(request)] = order.handle;
    } catch (const std::system_error&) {
      say(RankMessageKind::not_started, order.handle);
    }
  }

  void stop(const RankMessage& order) {
    for (const auto& [own, theirs] : handles_) {
      if (theirs != order.handle) continue;
      own_.stop(own, order.kind == RankMessageKind::kill ? StopSignal::kill : StopSignal::terminate);
    }
  }

  void tell_events() {
    for (const LaunchEvent& event : own_.wait(milliseconds(0))) {
      const std::int64_t handle = handles_.at(event.handle);
      if (event.kind == LaunchEvent::Kind::started) say(RankMessageKind::started, handle);
      if (event.kind == LaunchEvent::Kind::heartbeat) say(RankMessageKind::heartbeat, handle);
      if (event.kind != LaunchEvent::Kind::ended) continue;
      say(event.cause ? RankMessageKind::not_stored : RankMessageKind::ended, handle, event.memory_kills);
      handles_.erase(event.handle);
    }
  }

 private:
  void say(RankMessageKind kind, std::int64_t handle, const MemoryKills& memory_kills = {}) {
    RankMessage message{kind};
    message.handle = handle;
    message.memory_kills = memory_kills.count;
    message.kills_of_host = memory_kills.of_host;
    channel_.send(message);
  }

  Launcher& own_;
  RankChannel& channel_;
  std::map<AttemptHandle, std::int64_t> handles_;  // ours, rank 0's
};

}  // namespace

ServedEnd serve_rank(const OuterRank& self, Launcher& own, milliseconds patience, const std::atomic<int>& interrupts) {
  auto channel = find_rank_0(self.launch, Steady::now() + patience, interrupts);
  if (!channel) {
    return {ExitCode::usage, fmt::format("--join: rank {} found no rank 0 of its launch within {} s", self.rank,
                                         static_cast<double>(patience.count()) / 1e3)};
  }
  RankMessage join{RankMessageKind::join};
  join.version = kProjectVersion;
  join.rank = self.rank;
  join.ranks = self.ranks;
  channel->send(join);
  RankService service(own, *channel);
  // One signal goes to all ranks, and rank 0 ends the run in good order; who is told twice leaves.
  while (channel->is_open() && interrupts < 2) {
    pollfd polled{channel->descriptor(), POLLIN, 0};
    poll(&polled, 1, static_cast<int>(kReaction.count()));
    while (const auto order = channel->receive()) {
      if (order->kind == RankMessageKind::finish) return {static_cast<ExitCode>(order->exit_code), order->text};
      if (order->kind == RankMessageKind::launch) service.launch(*order);
      if (order->kind == RankMessageKind::terminate || order->kind == RankMessageKind::kill) service.stop(*order);
    }
    service.tell_events();
  }
  if (interrupts >= 2) return {ExitCode::interrupted, "stopped by the user"};
  return {ExitCode::undecided, "--join: rank 0, which coordinates, is gone"};
}

}  // namespace reprobench
