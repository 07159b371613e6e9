// The ranks of one attempt, joined: counts this rank's collectives, sees that all ranks call the same ones, and says
// which rank is to be asked when one fails.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "suites/worker/ranks/position.hpp"
#include "suites/worker/ranks/process_group.hpp"

namespace reprobench {

// Who holds up a collective, told from where the others were.
struct Holdup {
  std::optional<int> rank = {};  // nothing: all of them are in it, and it is the same
  std::string text;              // "rank 1 never entered it: its last is call 36, all_reduce of 4096 bytes, done"
  bool calls_differ = false;     // that rank is in another call
};

// `others` has nothing at this rank's own place, and where a rank left no position. Of ranks that call different ones
// the one that is alone is named, be it this; of two that differ the other one, since nobody knows which is right.
Holdup holdup_of(const Position& own, int rank, const std::vector<std::optional<Position>>& others);

// Over NCCL where the request is for a GPU, over Gloo where it is for the CPU.
JoinGroup join_of(const CellRequest& request);

class RankGroup {
 public:
  // Meets the other ranks in the attempt's folder, which holds `rank_folder`, or with `rendezvous: tcp` at
  // MASTER_ADDR:MASTER_PORT. Throws RunFailure: "collective", "port_in_use", "unsupported" (also for a store where the
  // group is not Gloo's).
  RankGroup(const CellRequest& request, const std::filesystem::path& rank_folder)
      : RankGroup(request, rank_folder, join_of(request)) {}
  RankGroup(const CellRequest& request, const std::filesystem::path& rank_folder, JoinGroup join);

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::string_view library() const { return group_->library(); }
  c10::Device where() const;

  // What the library wrote of its work since this was last asked, and all of it so far.
  std::string take_log();
  const std::string& log() const { return log_; }

  // One collective; `dtype` of its tensors, "fp32". Throws UnsupportedCollective, and RunFailure: "collective" with the
  // rank that it waited for, or that called another one at the same time, "collective_error" where this rank's own
  // library failed, or what the device's failure is called.
  void call(std::string_view name, std::int64_t bytes, const std::function<void(ProcessGroup&)>& collective,
            std::string_view dtype = {});
  void barrier() {
    call("barrier", 0, [](ProcessGroup& group) { group.barrier(); });
  }

  // What the device took for the last call, where it has a clock of its own.
  std::optional<std::int64_t> device_time_ns() { return group_->device_time_ns(); }

  // As many numbers of every rank, in their order; wherever the group's tensors lie.
  std::vector<double> all_numbers(const std::vector<double>& own);

 private:
  void guarded(const CollectiveCall& call, const std::function<void()>& work);
  void watch_others();
  std::vector<std::optional<Position>> positions_of_others(bool all_in_it) const;
  [[noreturn]] void give_up(std::chrono::steady_clock::time_point began, const std::string& why) const;

  int rank_;
  int size_;
  std::filesystem::path attempt_folder_;
  PositionFile position_;
  std::vector<PositionFile> others_;  // once all have met
  std::unique_ptr<ProcessGroup> group_;
  std::string log_;
};

}  // namespace reprobench
