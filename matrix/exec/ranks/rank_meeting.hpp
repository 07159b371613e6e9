// Rank 0 of a launch, and the others as they come to it (outer_launcher.hpp).
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
  // Throws UsageError if rank 0 of this launch is there already.
  explicit RankMeeting(const OuterRank& self);

  int ranks() const { return static_cast<int>(others_.size()) + 1; }

  // Until all have come. Throws UsageError: the ranks that have not within `patience`, one that is there twice or with
  // another idea of how many there are.
  void gather(std::chrono::milliseconds patience);

  RankChannel& other(int rank) { return others_.at(static_cast<std::size_t>(rank - 1)); }

  // Whoever comes once all are there is told to leave with exit code 2.
  void refuse_latecomers();

  // Tells all to leave. Where they have not all come, also those that do within a moment, so that one mistake of one
  // rank is the answer of every rank.
  void finish(ExitCode code, const std::string& why);

 private:
  void take(RankChannel newcomer, const RankMessage& join);
  void come_together(std::chrono::steady_clock::time_point deadline);
  void wait_for_those_to_tell();
  bool is_complete() const;

  FileDescriptor listener_;
  std::vector<RankChannel> others_;                                      // rank N at [N - 1]
  std::vector<RankChannel> unnamed_;                                     // have come, and not said who they are
  std::optional<std::chrono::steady_clock::time_point> gathered_until_;  // of the gather() that was begun
  bool has_gathered_ = false;
};

// What the other ranks do: each its rank of whatever attempt rank 0 asks for, with a launcher of its own, until it is
// told to leave.
struct ServedEnd {
  ExitCode code = ExitCode::undecided;
  std::string why = {};  // empty: the run is over, and said it all
};
ServedEnd serve_rank(const OuterRank& self, Launcher& own, std::chrono::milliseconds patience,
                     const std::atomic<int>& interrupts);

}  // namespace reprobench
