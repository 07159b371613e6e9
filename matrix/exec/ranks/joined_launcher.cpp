#include "matrix/exec/ranks/joined_launcher.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace reprobench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kOthersSlice{20};
constexpr milliseconds kMomentForShepherd{10'000};  // beyond the grace, for one whose runner is gone to write exit.json

}  // namespace

AttemptHandle JoinedLauncher::start(const LaunchRequest& request) {
  const auto ranks = static_cast<int>(request.ranks.size());
  if (ranks != 1 && ranks != meeting_.ranks()) {
    throw std::invalid_argument(fmt::format("{} ranks for {} processes", ranks, meeting_.ranks()));
  }
  for (int rank = 1; rank < meeting_.ranks(); ++rank) {
    if (meeting_.other(rank).is_open()) continue;
    throw std::system_error(ESRCH, std::generic_category(),
                            fmt::format("the process that the outer launcher started for rank {}", rank));
  }
  const AttemptHandle handle = ++last_handle_;
  LaunchRequest own;
  own.grace = request.grace;
  own.ranks = {request.ranks.front()};
  Joined joined{own_.start(own), request, {0}, {}};
  for (const RankLaunch& rank : request.ranks) {
    if (rank.request.rank == 0) continue;
    RankMessage order{RankMessageKind::launch};
    order.rank = rank.request.rank;
    order.handle = handle;
    order.nonce = rank.request.nonce;
    order.folder = rank.folder;
    order.command = rank.command;
    order.environment = rank.environment;
    order.grace_ms = request.grace.count();
    meeting_.other(order.rank).send(order);  // one that is gone is found in wait()
    joined.running.insert(order.rank);
  }
  attempts_.emplace(handle, std::move(joined));
  return handle;
}

void JoinedLauncher::stop(AttemptHandle handle, StopSignal signal) {
  const auto found = attempts_.find(handle);
  if (found == attempts_.end()) return;
  if (found->second.running.contains(0)) own_.stop(found->second.own, signal);
  RankMessage order{signal == StopSignal::kill ? RankMessageKind::kill : RankMessageKind::terminate};
  order.handle = handle;
  for (const int rank : found->second.running) {
    if (rank > 0) meeting_.other(rank).send(order);
  }
}

std::vector<LaunchEvent> JoinedLauncher::wait(milliseconds timeout) {
  std::vector<LaunchEvent> events;
  const auto deadline = Steady::now() + timeout;
  do {
    take_own(events, std::min(timeout, kOthersSlice));
    take_others(events);
    take_lost(events);
    meeting_.refuse_latecomers();
  } while (events.empty() && Steady::now() < deadline);
  return events;
}

void JoinedLauncher::end(std::vector<LaunchEvent>& events, AttemptHandle handle, int rank,
                         std::optional<AttemptEnd> cause, const MemoryKills& memory_kills) {
  const auto found = attempts_.find(handle);
  if (found == attempts_.end() || found->second.running.erase(rank) == 0) return;
  events.push_back({handle, rank, LaunchEvent::Kind::ended, cause, memory_kills});
  if (found->second.running.empty()) attempts_.erase(found);
}

// Those of other processes cannot be seen from here.
std::vector<int> JoinedLauncher::stopped_ranks(AttemptHandle handle) const {
  const auto found = attempts_.find(handle);
  return found == attempts_.end() ? std::vector<int>{} : own_.stopped_ranks(found->second.own);
}

void JoinedLauncher::take_own(std::vector<LaunchEvent>& events, milliseconds timeout) {
  for (const LaunchEvent& event : own_.wait(timeout)) {
    const auto found = std::find_if(attempts_.begin(), attempts_.end(),
                                    [&](const auto& attempt) { return attempt.second.own == event.handle; });
    if (found == attempts_.end()) continue;
    const AttemptHandle handle = found->first;
    if (event.kind == LaunchEvent::Kind::ended) {
      end(events, handle, 0, event.cause, event.memory_kills);
    } else {
      events.push_back({handle, 0, event.kind});
    }
  }
}

void JoinedLauncher::take_others(std::vector<LaunchEvent>& events) {
  for (int rank = 1; rank < meeting_.ranks(); ++rank) {
    while (const auto said = meeting_.other(rank).receive()) {
      switch (said->kind) {
        case RankMessageKind::started:
          events.push_back({said->handle, rank, LaunchEvent::Kind::started});
          break;
        case RankMessageKind::heartbeat:
          events.push_back({said->handle, rank, LaunchEvent::Kind::heartbeat});
          break;
        case RankMessageKind::ended:
          end(events, said->handle, rank, std::nullopt, {said->memory_kills, said->kills_of_host});
          break;
        case RankMessageKind::not_stored:
          end(events, said->handle, rank, AttemptEnd::store);
          break;
        case RankMessageKind::not_started:
          end(events, said->handle, rank, AttemptEnd::launch);
          break;
        default:
          break;
      }
    }
  }
}

// The shepherd of a process that is gone stops its tree and writes exit.json.
void JoinedLauncher::take_lost(std::vector<LaunchEvent>& events) {
  std::vector<std::pair<AttemptHandle, int>> ended;
  for (auto& [handle, joined] : attempts_) {
    for (const int rank : joined.running) {
      if (rank == 0 || meeting_.other(rank).is_open()) continue;
      const auto since = joined.lost.try_emplace(rank, Steady::now()).first->second;
      const bool has_record =
          std::filesystem::exists(joined.request.ranks[static_cast<std::size_t>(rank)].folder / "exit.json");
      const bool is_over = Steady::now() - since > joined.request.grace + kMomentForShepherd;
      if (has_record || is_over) ended.emplace_back(handle, rank);
    }
  }
  for (const auto& [handle, rank] : ended) end(events, handle, rank, std::nullopt);
}

}  // namespace reprobench
