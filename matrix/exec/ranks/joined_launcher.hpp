// Attempts whose ranks are the processes of an outer launcher. Rank 0 starts its own process tree here. It asks each
// other rank that has joined the meeting to start its own. Every rank is still a tree under a shepherd, with all its
// evidence.
#pragma once

#include <chrono>
#include <map>
#include <set>

#include "matrix/exec/launcher.hpp"
#include "matrix/exec/ranks/rank_meeting.hpp"

namespace reprobench {

class JoinedLauncher : public Launcher {
 public:
  // Both must outlive it. `own` starts the trees of rank 0.
  JoinedLauncher(Launcher& own, RankMeeting& meeting) : own_(own), meeting_(meeting) {}

  // Throws std::system_error also if a rank is gone, because only the outer launcher could start it again.
  AttemptHandle start(const LaunchRequest& request) override;
  void stop(AttemptHandle handle, StopSignal signal) override;
  std::vector<LaunchEvent> wait(std::chrono::milliseconds timeout) override;
  std::vector<int> stopped_ranks(AttemptHandle handle) const override;

 private:
  struct Joined {
    AttemptHandle own = 0;
    LaunchRequest request;
    std::set<int> running;                                      // ranks that have not ended
    std::map<int, std::chrono::steady_clock::time_point> lost;  // ranks whose process is gone, and since when
  };

  void take_own(std::vector<LaunchEvent>& events, std::chrono::milliseconds timeout);
  void take_others(std::vector<LaunchEvent>& events);
  void take_lost(std::vector<LaunchEvent>& events);
  void end(std::vector<LaunchEvent>& events, AttemptHandle handle, int rank, std::optional<AttemptEnd> cause,
           const MemoryKills& memory_kills = {});

  Launcher& own_;
  RankMeeting& meeting_;
  AttemptHandle last_handle_ = 0;
  std::map<AttemptHandle, Joined> attempts_;
};

}  // namespace reprobench
