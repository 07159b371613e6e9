// The ranks of one attempt, joined: counts this rank's collectives, checks that all ranks call the same ones, and names
// the rank to look at when one fails.
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

// The rank that holds up a collective, told from the positions of all.
struct Holdup {
  std::optional<int> rank = {};  // nothing: all ranks are in the same call
  std::string text;              // "rank 1 never entered it: its last is call 36, all_reduce of 4096 bytes, done"
  bool calls_differ = false;     // whether that rank is in another call
};

// `others` has nothing at this rank's own place, and where a rank left no position. If ranks call different
// collectives, the rank that is alone with its call is named, even if it is this one. If two ranks differ, the other
// one is named, since nobody knows which is right.
Holdup holdup_of(const Position& own, int rank, const std::vector<std::optional<Position>>& others);

// Joins over NCCL if the request is for a GPU, over Gloo if it is for the CPU.
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

  // The log of the library since this was last called, and all of it so far.
  std::string take_log();
  const std::string& log() const { return log_; }

  // Makes one collective call; `dtype` is that of its tensors, "fp32". Throws UnsupportedCollective and RunFailure.
  // "collective" has the rank that it waited for, or that called another collective at the same time.
  // "collective_error" means that this rank's own library failed; a failure of the device has its own cause.
  void call(std::string_view name, std::int64_t bytes, const std::function<void(ProcessGroup&)>& collective,
            std::string_view dtype = {});
  void barrier() {
    call("barrier", 0, [](ProcessGroup& group) { group.barrier(); });
  }

  // The device's time for the last call, if it has a clock of its own.
  std::optional<std::int64_t> device_time_ns() { return group_->device_time_ns(); }

  // The numbers of every rank, in their order. Each rank has equally many; the group's tensors may lie on any device.
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
  std::vector<PositionFile> others_;  // filled once all have met
  std::unique_ptr<ProcessGroup> group_;
  std::string log_;
};

}  // namespace reprobench
