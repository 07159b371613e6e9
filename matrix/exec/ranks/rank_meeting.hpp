// Rank 0 of a launch, and the other ranks as they join it (outer_launcher.hpp).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/exit_code.hpp"
#include "matrix/exec/launcher.hpp"
#include "matrix/exec/ranks/outer_launcher.hpp"
#include "matrix/exec/ranks/rank_channel.hpp"

namespace reprobench {

class RankMeeting {
 public:
  // Throws UsageError if this launch already has a rank 0.
  explicit RankMeeting(const OuterRank& self);

  int ranks() const { return static_cast<int>(others_.size()) + 1; }

  // Waits until all ranks have joined. Throws UsageError with the ranks that have not within `patience`. Throws it also
  // for a rank that is there twice, or that expects another number of ranks.
  void gather(std::chrono::milliseconds patience);

  RankChannel& other(int rank) { return others_.at(static_cast<std::size_t>(rank - 1)); }

  // Tells every process that comes once all are there to leave with exit code 2.
  void refuse_latecomers();

  // Tells all ranks to leave. If not all have joined, it also tells those that join within a moment, so that one
  // mistake of one rank is the answer of every rank.
  void finish(ExitCode code, const std::string& why);

 private:
  void take(RankChannel newcomer, const RankMessage& join);
  void come_together(std::chrono::steady_clock::time_point deadline);
  void wait_for_those_to_tell();
  bool is_complete() const;

  FileDescriptor listener_;
  std::vector<RankChannel> others_;                                      // rank N at [N - 1]
  std::vector<RankChannel> unnamed_;                                     // have joined, and not yet said who they are
  std::optional<std::chrono::steady_clock::time_point> gathered_until_;  // of the gather() that was begun
  bool has_gathered_ = false;
};

// The work of the other ranks. Each starts its rank of every attempt that rank 0 asks for, with a launcher of its own,
// until it is told to leave.
struct ServedEnd {
  ExitCode code = ExitCode::undecided;
  std::string why = {};  // empty: the run is over and has reported everything
};
ServedEnd serve_rank(const OuterRank& self, Launcher& own, std::chrono::milliseconds patience,
                     const std::atomic<int>& interrupts);

}  // namespace reprobench
