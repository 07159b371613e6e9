#include "suites/worker/ranks/rank_group.hpp"

#include <chrono>
#include <cstdio>

#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr const char* kMeetingFile = "rendezvous";
constexpr const char* kPositionFile = "position";
constexpr std::chrono::milliseconds kUsualTimeout{30'000};

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string seconds_since(std::chrono::steady_clock::time_point began) {
  char text[32];
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - began;
  std::snprintf(text, sizeof text, "%.1f s", waited.count());
  return text;
}

Meeting meeting_of(const CellRequest& request, const std::filesystem::path& attempt_folder) {
  const std::chrono::milliseconds asked(request.collective_timeout_ms);
  return {attempt_folder / kMeetingFile, request.rank, request.world_size, asked.count() > 0 ? asked : kUsualTimeout};
}

std::string state_of(const Position& position) {
  return position.text() + (position.left < position.entered ? ", which it has not left" : ", done");
}

}  // namespace

Holdup holdup_of(const Position& own, int rank, const std::vector<std::optional<Position>>& others) {
  Holdup holdup;
  std::int64_t least = own.entered;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const int other = static_cast<int>(i);
    if (other == rank) continue;
    const std::string name = "rank " + std::to_string(other);
    const std::int64_t entered = others[i] ? others[i]->entered : -1;
    if (entered < least) {
      least = entered;
      holdup = {other, !others[i]     ? name + " never began"
                       : entered == 0 ? name + " never entered it, nor any other"
                                      : name + " never entered it: its last is " + state_of(*others[i])};
    } else if (!holdup.rank && entered == own.entered &&
               (others[i]->name != own.name || others[i]->bytes != own.bytes)) {
      holdup = {other, name + " does " + others[i]->text()};
    }
  }
  if (!holdup.rank) holdup.text = "all ranks entered it";
  return holdup;
}

RankGroup::RankGroup(const CellRequest& request, const std::filesystem::path& rank_folder)
    : rank_(request.rank),
      size_(request.world_size),
      attempt_folder_(rank_folder.parent_path()),
      position_(rank_folder / kPositionFile) {
  guarded("meeting", 0, [&] { group_ = join_gloo(meeting_of(request, attempt_folder_)); });
}

void RankGroup::call(std::string_view name, std::int64_t bytes, const std::function<void(ProcessGroup&)>& collective) {
  guarded(name, bytes, [&] { collective(*group_); });
}

void RankGroup::guarded(std::string_view name, std::int64_t bytes, const std::function<void()>& work) {
  position_.enter(name, bytes);
  const auto began = std::chrono::steady_clock::now();
  try {
    work();
  } catch (const RunFailure&) {
    throw;
  } catch (const UnsupportedCollective&) {
    position_.leave();
    throw;
  } catch (const std::exception& error) {
    std::vector<std::optional<Position>> others(static_cast<std::size_t>(size_));
    for (int other = 0; other < size_; ++other) {
      if (other == rank_) continue;
      const std::filesystem::path folder = attempt_folder_ / ("rank-" + std::to_string(other));
      others[static_cast<std::size_t>(other)] = read_position(folder / kPositionFile);
    }
    const Holdup holdup = holdup_of(position_.now(), rank_, others);
    throw RunFailure("collective",
                     position_.now().text() + ", failed after " + seconds_since(began) + ": " + holdup.text + " (" +
                         first_line_of(error.what()) + ")",
                     holdup.rank);
  }
  position_.leave();
}

}  // namespace reprobench
