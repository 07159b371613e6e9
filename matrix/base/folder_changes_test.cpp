#include "matrix/base/folder_changes.hpp"

#include <chrono>
#include <fstream>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;

// The shortest of several sleeps: a busy host only makes them longer.
milliseconds shortest_sleep(FolderChanges& changes, const auto& before_each) {
  auto shortest = milliseconds::max();
  for (int i = 0; i < 20; ++i) {
    before_each();
    const auto began = std::chrono::steady_clock::now();
    changes.sleep();
    shortest = std::min(shortest, std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began));
  }
  return shortest;
}

TEST_CASE("a sleep ends at once where a file of the folder was written", "[base]") {
  TemporaryFolder folder;
  FolderChanges changes(folder.path);
  std::ofstream file(folder.path / "turns.jsonl", std::ios::app);
  CHECK(shortest_sleep(changes, [&] { file << "line\n" << std::flush; }) < milliseconds(5));
}

TEST_CASE("a sleep ends by itself where nothing is written", "[base]") {
  TemporaryFolder folder;
  FolderChanges changes(folder.path);
  const auto longest = milliseconds(FolderChanges::kLongestSleep_ms);
  CHECK(shortest_sleep(changes, [] {}) >= longest - milliseconds(1));
  SECTION("a change that a sleep has told of is not told again") {
    std::ofstream(folder.path / "a") << "b";
    changes.sleep();
    CHECK(shortest_sleep(changes, [] {}) >= longest - milliseconds(1));
  }
}

TEST_CASE("a folder that cannot be watched is looked at after each sleep", "[base]") {
  TemporaryFolder folder;
  FolderChanges changes(folder.path / "absent");
  CHECK(shortest_sleep(changes, [] {}) >= milliseconds(FolderChanges::kLongestSleep_ms - 1));
}

}  // namespace
}  // namespace reprobench
