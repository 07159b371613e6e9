#include "suites/worker/ranks/rank_group.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "matrix/contract/device/device_class.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/ranks/meeting.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

using Steady = std::chrono::steady_clock;

constexpr const char* kPositionFile = "position";
constexpr const char* kLogFile = "nccl.log";
// A rank that loses its peers at once may find some of them a moment before the call in which it was lost.
constexpr std::chrono::milliseconds kMomentForOthers{500};
constexpr std::chrono::milliseconds kBetweenLooks{5};

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string seconds_since(Steady::time_point began) {
  char text[32];
  const std::chrono::duration<double> waited = Steady::now() - began;
  std::snprintf(text, sizeof text, "%.1f s", waited.count());
  return text;
}

Meeting logged_meeting_of(const CellRequest& request, const std::filesystem::path& rank_folder) {
  Meeting meeting = meeting_of(request, rank_folder.parent_path());
  meeting.log = rank_folder / kLogFile;
  // TUNING is a line for every call, on rank 0: how each is done is what a probe asks, and no training.
  meeting.log_subjects = request.workload.is_probe() ? "INIT,TUNING" : "INIT";
  return meeting;
}

std::string state_of(const Position& position) {
  return position.text() + (position.left < position.entered ? ", which it has not left" : ", done");
}

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

// The rank that came least far, if it has not entered the call.
std::optional<Holdup> absent_rank(const Position& own, int rank, const std::vector<std::optional<Position>>& others) {
  std::optional<Holdup> absent;
  std::int64_t least = own.entered;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const int other = static_cast<int>(i);
    const std::int64_t entered = others[i] ? others[i]->entered : -1;
    if (other == rank || entered >= least) continue;
    least = entered;
    absent = Holdup{other, !others[i]     ? name_of(other) + " never began"
                           : entered == 0 ? name_of(other) + " never entered it, nor any other"
                                          : name_of(other) + " never entered it: its last is " + state_of(*others[i])};
  }
  return absent;
}

// Of calls with one number the one that fewest ranks make.
std::optional<Holdup> odd_rank(const Position& own, int rank, const std::vector<std::optional<Position>>& others) {
  const CollectiveCall* const ours = own.call(own.entered);
  std::vector<std::pair<int, const CollectiveCall*>> calls;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const int other = static_cast<int>(i);
    const CollectiveCall* const its = other == rank ? ours : others[i] ? others[i]->call(own.entered) : nullptr;
    if (its != nullptr) calls.emplace_back(other, its);
  }
  const auto makers = [&](const CollectiveCall& call) {
    return std::ranges::count_if(calls, [&](const auto& one) { return *one.second == call; });
  };
  const auto does = [&](const CollectiveCall& call) {
    return " does call " + std::to_string(own.entered) + ", " + call.text();
  };
  std::optional<Holdup> odd;
  std::ptrdiff_t fewest = static_cast<std::ptrdiff_t>(calls.size()) + 1;
  for (const auto& [other, call] : calls) {
    if (other == rank || *call == *ours || makers(*call) >= fewest) continue;
    fewest = makers(*call);
    odd = Holdup{other, name_of(other) + does(*call), true};
    if (makers(*ours) < fewest)
      odd = Holdup{rank, "this rank alone" + does(*ours) + ", where others do " + call->text(), true};
  }
  return odd;
}

}  // namespace

Holdup holdup_of(const Position& own, int rank, const std::vector<std::optional<Position>>& others) {
  if (const auto absent = absent_rank(own, rank, others)) return *absent;
  if (const auto odd = odd_rank(own, rank, others)) return *odd;
  return {std::nullopt, "all ranks entered it"};
}

JoinGroup join_of(const CellRequest& request) {
  const auto device = DeviceClass::parse(request.device);
  return device && device->is_gpu() ? &join_nccl : &join_gloo;
}

RankGroup::RankGroup(const CellRequest& request, const std::filesystem::path& rank_folder, JoinGroup join)
    : rank_(request.rank),
      size_(request.world_size),
      attempt_folder_(rank_folder.parent_path()),
      position_(rank_folder / kPositionFile) {
  const Meeting meeting = logged_meeting_of(request, rank_folder);
  if (meeting.is_at_store() && join != &join_gloo) {
    throw RunFailure("unsupported", "`rendezvous: tcp` is of ranks on the CPU: those on GPUs meet in a file");
  }
  guarded({"meeting", 0, meeting.place()}, [&] {
    group_ = join(meeting);
    watch_others();
  });
}

c10::Device RankGroup::where() const { return group_->where(); }

std::string RankGroup::take_log() {
  std::string text = group_->take_log();
  log_ += text;
  return text;
}

std::vector<double> RankGroup::all_numbers(const std::vector<double>& own) {
  const auto count = static_cast<std::int64_t>(own.size());
  // from_blob takes no const memory; nothing writes to it.
  const at::Tensor sent = at::from_blob(const_cast<double*>(own.data()), {count}, at::kDouble).clone().to(where());
  at::Tensor all = at::empty({count * size_}, sent.options());
  call(
      "all_gather", static_cast<std::int64_t>(all.nbytes()), [&](ProcessGroup& group) { group.all_gather(sent, all); },
      "fp64");
  const at::Tensor here = all.cpu();
  const auto* numbers = static_cast<const double*>(here.data_ptr());
  return {numbers, numbers + here.numel()};
}

void RankGroup::watch_others() {
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    others_.push_back(PositionFile::of_other(attempt_folder_ / ("rank-" + std::to_string(other)) / kPositionFile));
  }
}

void RankGroup::call(std::string_view name, std::int64_t bytes, const std::function<void(ProcessGroup&)>& collective,
                     std::string_view dtype) {
  guarded({std::string(name), bytes, std::string(dtype)}, [&] { collective(*group_); });
}

std::vector<std::optional<Position>> RankGroup::positions_of_others(bool all_in_it) const {
  const auto deadline = Steady::now() + kMomentForOthers;
  for (;;) {
    std::vector<std::optional<Position>> others(static_cast<std::size_t>(size_));
    bool are_in_it = true;
    for (int other = 0; other < size_; ++other) {
      if (other == rank_) continue;
      auto& position = others[static_cast<std::size_t>(other)];
      position = read_position(attempt_folder_ / ("rank-" + std::to_string(other)) / kPositionFile);
      are_in_it = are_in_it && position && position->entered >= position_.now().entered;
    }
    if (!all_in_it || are_in_it || Steady::now() >= deadline) return others;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void RankGroup::give_up(Steady::time_point began, const std::string& why) const {
  const std::string waited = seconds_since(began);
  const Holdup holdup = holdup_of(position_.now(), rank_, positions_of_others(true));
  throw RunFailure(
      "collective",
      position_.now().text() + ", failed after " + waited + ": " + holdup.text + " (" + first_line_of(why) + ")",
      holdup.rank, holdup.calls_differ);
}

// Libraries do not compare what ranks call: Gloo adds up int32 and fp32 of equal size without a word, and what comes of
// two different collectives may be a result, a lost connection or silence. So every call is held against the others'.
void RankGroup::guarded(const CollectiveCall& call, const std::function<void()>& work) {
  position_.enter(call.name, call.bytes, call.detail);
  const auto began = Steady::now();
  try {
    work();
  } catch (const RunFailure&) {
    throw;
  } catch (const UnsupportedCollective&) {
    position_.leave();
    throw;
  } catch (const CollectiveError& error) {
    throw RunFailure("collective_error", position_.now().text() + ": " + first_line_of(error.what()));
  } catch (const std::exception& error) {
    give_up(began, error.what());
  }
  const bool is_alike =
      std::ranges::none_of(others_, [&](const PositionFile& other) { return position_.differs_from(other); });
  if (!is_alike) give_up(began, "ranks call different collectives");
  position_.leave();
}

}  // namespace reprobench
