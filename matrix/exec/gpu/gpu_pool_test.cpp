// Which GPUs an attempt gets, and who else may have them: on cards that are only facts.
#include "matrix/exec/gpu/gpu_pool.hpp"

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/exec/sample_plan.hpp"

namespace reprobench {
namespace {

GpuFacts card(const std::string& uuid, const std::string& capability = "9.0") {
  GpuFacts gpu;
  gpu.uuid = uuid;
  gpu.compute_capability = capability;
  return gpu;
}

// "A B", or "none".
std::string cards_of(const std::optional<GpuLease>& lease) {
  if (!lease) return "none";
  std::string names;
  for (const GpuFacts& gpu : lease->gpus()) names += (names.empty() ? "" : " ") + gpu.uuid;
  return names;
}

TEST_CASE("an attempt gets the first free GPUs of its class, all or none", "[exec][gpu]") {
  const TemporaryFolder locks;
  GpuPool pool({card("X", "8.0"), card("A"), card("B"), card("C")}, locks.path);
  const auto first = pool.try_lease("sm_90", 1, true);
  CHECK(cards_of(first) == "A");
  CHECK(cards_of(pool.try_lease("sm_90", 3, true)) == "none");
  const auto pair = pool.try_lease("sm_90", 2, true);  // what the failed try took was let go
  CHECK(cards_of(pair) == "B C");
  CHECK(cards_of(pool.try_lease("sm_90", 1, true)) == "none");
  CHECK(cards_of(pool.try_lease("sm_80", 1, true)) == "X");
  CHECK(cards_of(pool.try_lease("sm_120", 1, true)) == "none");
}

TEST_CASE("what is given back can be had again, and only that", "[exec][gpu]") {
  const TemporaryFolder locks;
  GpuPool pool({card("A"), card("B")}, locks.path);
  auto first = pool.try_lease("sm_90", 1, false);
  const auto second = pool.try_lease("sm_90", 1, false);
  CHECK(cards_of(pool.try_lease("sm_90", 1, false)) == "none");
  pool.give_back(*second);
  CHECK(cards_of(pool.try_lease("sm_90", 1, false)) == "B");
  pool.give_back(*first);
  CHECK(cards_of(pool.try_lease("sm_90", 2, false)) == "none");  // B is in use again
  CHECK(cards_of(pool.try_lease("sm_90", 1, false)) == "A");
}

TEST_CASE("between runners a timed cell holds its GPU alone, others share it", "[exec][gpu]") {
  const auto [mine, theirs, theirs_get] = GENERATE(table<bool, bool, std::string>(
      {{true, true, "none"}, {true, false, "none"}, {false, true, "none"}, {false, false, "A"}}));
  const TemporaryFolder locks;
  GpuPool pool({card("A")}, locks.path);
  GpuPool of_another_runner({card("A")}, locks.path);
  {
    const auto lease = pool.try_lease("sm_90", 1, mine);
    REQUIRE(cards_of(lease) == "A");
    CHECK(cards_of(of_another_runner.try_lease("sm_90", 1, theirs)) == theirs_get);
  }
  if (theirs_get == "none") {
    CHECK(cards_of(of_another_runner.try_lease("sm_90", 1, theirs)) == "A");  // with the lease its lock is gone
  }
}

TEST_CASE("a GPU that another runner holds is passed over for the next one", "[exec][gpu]") {
  const TemporaryFolder locks;
  GpuPool pool({card("A"), card("B")}, locks.path);
  GpuPool of_another_runner({card("A")}, locks.path);
  const auto held = of_another_runner.try_lease("sm_90", 1, true);
  CHECK(cards_of(pool.try_lease("sm_90", 1, true)) == "B");
}

// Each holds what it got for a moment and asks again, as runners do.
TEST_CASE("runners that want overlapping sets of GPUs all get theirs, and never one GPU at once", "[exec][gpu]") {
  const TemporaryFolder locks;
  std::array<std::atomic<int>, 4> users{};
  std::atomic<int> clashes{0};
  const auto run = [&](int count) {
    GpuPool pool({card("0"), card("1"), card("2"), card("3")}, locks.path);
    for (int held = 0; held < 50;) {
      auto lease = pool.try_lease("sm_90", count, true);
      if (!lease) {
        std::this_thread::yield();
        continue;
      }
      if (static_cast<int>(lease->gpus().size()) != count) ++clashes;
      for (const GpuFacts& gpu : lease->gpus()) clashes += ++users[static_cast<std::size_t>(std::stoi(gpu.uuid))] > 1;
      for (const GpuFacts& gpu : lease->gpus()) --users[static_cast<std::size_t>(std::stoi(gpu.uuid))];
      pool.give_back(*lease);
      ++held;
    }
  };
  std::vector<std::thread> runners;
  for (const int count : {4, 3, 2, 3}) runners.emplace_back(run, count);
  for (std::thread& runner : runners) runner.join();
  CHECK(clashes == 0);
}

TEST_CASE("who cannot have as many GPUs as it wants locks none of those that are left", "[exec][gpu]") {
  const TemporaryFolder locks;
  GpuPool pool({card("A"), card("B")}, locks.path);
  GpuPool of_another_runner({card("A")}, locks.path);
  const auto held = of_another_runner.try_lease("sm_90", 1, true);
  CHECK(cards_of(pool.try_lease("sm_90", 2, true)) == "none");
  CHECK_FALSE(std::filesystem::exists(locks.path / "reprobench-B.lock"));
  CHECK(cards_of(pool.try_lease("sm_90", 1, true)) == "B");
}

TEST_CASE("a lock may be opened by every user, and its name is no path", "[exec][gpu]") {
  const TemporaryFolder locks;
  GpuPool pool({card("GPU-1/../../x y")}, locks.path);
  const auto lease = pool.try_lease("sm_90", 1, true);
  REQUIRE(lease);
  struct stat status {};
  REQUIRE(stat((locks.path / "reprobench-GPU-1_______x_y.lock").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0666);
}

TEST_CASE("a lock that is a link is refused", "[exec][gpu]") {
  const TemporaryFolder locks;
  std::ofstream(locks.path / "elsewhere").flush();
  std::filesystem::create_symlink(locks.path / "elsewhere", locks.path / "reprobench-A.lock");
  GpuPool pool({card("A")}, locks.path);
  CHECK_THROWS_AS(pool.try_lease("sm_90", 1, true), StoreError);
}

TEST_CASE("a GPU out of service is leased to nobody, and the first reason stays", "[exec][gpu]") {
  const TemporaryFolder locks;
  GpuPool pool({card("A"), card("B"), card("X", "8.0")}, locks.path);
  pool.quarantine("A", "it burns");
  pool.quarantine("A", "it smokes");
  CHECK(cards_of(pool.try_lease("sm_90", 1, true)) == "B");
  CHECK(pool.hopeless_because("sm_90", 1).empty());  // B will come back
  CHECK(pool.hopeless_because("sm_90", 2) == "2 GPU of class sm_90 wanted, 1 left; A is quarantined: it burns");
  pool.quarantine("B", "lost");
  CHECK(pool.hopeless_because("sm_90", 1) ==
        "1 GPU of class sm_90 wanted, 0 left; A is quarantined: it burns; B is quarantined: lost");
  CHECK(pool.hopeless_because("sm_80", 1).empty());
  CHECK(pool.hopeless_because("sm_100", 1) == "1 GPU of class sm_100 wanted, 0 left");
}

TEST_CASE("a GPU whose settings forbid it is leased to nobody, and said so", "[exec][gpu]") {
  const TemporaryFolder locks;
  GpuFacts prohibited = card("A");
  prohibited.compute_mode = "prohibited";
  GpuPool pool({prohibited, card("B")}, locks.path);
  CHECK(cards_of(pool.try_lease("sm_90", 1, true)) == "B");
  pool.quarantine("A", "it burns");
  CHECK(pool.hopeless_because("sm_90", 2) == "2 GPU of class sm_90 wanted, 1 left; A: " + unusable_because(prohibited));
}

TEST_CASE("a worker sees its GPUs by UUID, in their order", "[exec][gpu]") {
  CHECK(visible_devices({}).empty());
  CHECK(visible_devices({card("B")}) == "B");
  CHECK(visible_devices({card("B"), card("A")}) == "B,A");
}

TEST_CASE("locks are where the user says, else where all users of the host meet", "[exec][gpu]") {
  const TemporaryVariable chosen("REPROBENCH_LOCK_DIR", "/chosen");
  CHECK(gpu_lock_folder() == "/chosen");
  const auto shared = access("/run/lock", W_OK | X_OK) == 0 ? std::filesystem::path("/run/lock")
                                                            : std::filesystem::temp_directory_path();
  const TemporaryVariable empty("REPROBENCH_LOCK_DIR", "");
  CHECK(gpu_lock_folder() == shared);
  const TemporaryVariable none("REPROBENCH_LOCK_DIR", std::nullopt);
  CHECK(gpu_lock_folder() == shared);
}

}  // namespace
}  // namespace reprobench
