// The ranks of one attempt, joined: counts this rank's collectives and, when one fails, says which rank is to be asked.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "matrix/contract/request.hpp"
#include "suites/worker/ranks/position.hpp"
#include "suites/worker/ranks/process_group.hpp"

namespace reprobench {

// Who holds up a collective, told from where the others were.
struct Holdup {
  std::optional<int> rank = {};  // nothing: all of them are in it
  std::string text;              // "rank 1 never entered it: its last is call 36, all_reduce of 4096 bytes, done"
};

// `others` has nothing at this rank's own place, and where a rank left no position.
Holdup holdup_of(const Position& own, int rank, const std::vector<std::optional<Position>>& others);

class RankGroup {
 public:
  // Meets the other ranks in the attempt's folder, which holds `rank_folder`. Throws RunFailure.
  RankGroup(const CellRequest& request, const std::filesystem::path& rank_folder);

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::string_view library() const { return group_->library(); }

  // One collective. Throws UnsupportedCollective, and RunFailure "collective" with the rank that it waited for.
  void call(std::string_view name, std::int64_t bytes, const std::function<void(ProcessGroup&)>& collective);
  void barrier() {
    call("barrier", 0, [](ProcessGroup& group) { group.barrier(); });
  }

 private:
  void guarded(std::string_view name, std::int64_t bytes, const std::function<void()>& work);

  int rank_;
  int size_;
  std::filesystem::path attempt_folder_;
  PositionFile position_;
  std::unique_ptr<ProcessGroup> group_;
};

}  // namespace reprobench
