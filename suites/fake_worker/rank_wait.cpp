#include "suites/fake_worker/rank_wait.hpp"

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPoll{1};

}  // namespace

void wait_for_ranks(const CellRequest& request, const fs::path& folder, std::int64_t step) {
  std::ofstream(folder / "arrived", std::ios::app) << '.';
  for (int rank = 0; rank < request.world_size; ++rank) {
    const fs::path file = folder.parent_path() / ("rank-" + std::to_string(rank)) / "arrived";
    std::error_code not_there_yet;
    for (;;) {
      const auto size = fs::file_size(file, not_there_yet);
      if (!not_there_yet && static_cast<std::int64_t>(size) >= step) break;
      std::this_thread::sleep_for(kPoll);
    }
  }
}

}  // namespace reprobench
