// Ranks that meet over Gloo, as threads of one process.
#include "suites/worker/ranks/rank_group.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "suites/worker/ranks/in_threads.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

// An attempt's folder with one for every rank.
struct Attempt {
  explicit Attempt(int count, std::int64_t timeout_ms = 10'000) : ranks(count), timeout(timeout_ms) {
    for (int rank = 0; rank < ranks; ++rank) std::filesystem::create_directory(folder_of(rank));
  }

  std::filesystem::path folder_of(int rank) const { return folder.path() / ("rank-" + std::to_string(rank)); }
  RankGroup join(int rank) const {
    CellRequest request;
    request.rank = rank;
    request.world_size = ranks;
    request.collective_timeout_ms = timeout;
    return RankGroup(request, folder_of(rank));
  }
  // What `work` throws in rank 0.
  RunFailure failure(const std::function<void(RankGroup&, int rank)>& work) const {
    try {
      in_threads(ranks, [&](int rank) {
        RankGroup group = join(rank);
        work(group, rank);
      });
    } catch (const RunFailure& error) {
      return error;
    }
    throw std::runtime_error("nothing failed");
  }

  TemporaryFolder folder;
  int ranks;
  std::int64_t timeout;
};

void add_up(RankGroup& group, std::int64_t elements = 2) {
  at::Tensor values = at::full({elements}, 1.0f);
  group.call("all_reduce", elements * 4, [&](ProcessGroup& members) { members.all_reduce(values); });
}

TEST_CASE("ranks meet, and each gets what the others brought", "[ranks]") {
  const Attempt attempt(3);
  in_threads(3, [&](int rank) {
    RankGroup group = attempt.join(rank);
    at::Tensor values = at::full({2}, static_cast<float>(rank + 1));
    group.call("all_reduce", 8, [&](ProcessGroup& members) { members.all_reduce(values); });
    if (values[0].item<float>() != 6) throw std::runtime_error("wrong sum");
    at::Tensor all = at::zeros({6});
    group.call("all_gather", 24,
               [&](ProcessGroup& members) { members.all_gather(at::full({2}, static_cast<float>(rank)), all); });
    group.barrier();
  });
  CHECK(read_position(attempt.folder_of(1) / "position")->text() == "call 4, barrier");
}

TEST_CASE("a rank that does not come to a collective is named by the one that waits", "[ranks]") {
  const Attempt attempt(2, 1'000);
  const RunFailure failure = attempt.failure([](RankGroup& group, int rank) {
    add_up(group);
    if (rank == 0) add_up(group);
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2'500));
  });
  CHECK(failure.cause() == "collective");
  CHECK(failure.waited_for() == 1);
  CHECK_THAT(failure.what(), Catch::StartsWith("call 3, all_reduce of 8 bytes, failed after 1.") &&
                                 Catch::Contains("rank 1 never entered it: its last is call 2, all_reduce of 8 bytes, "
                                                 "done ("));
}

TEST_CASE("a rank that does another collective, or one of another size, is named with it", "[ranks]") {
  const Attempt attempt(2, 1'000);
  const RunFailure failure = attempt.failure([](RankGroup& group, int rank) {
    if (rank == 0) return add_up(group);
    at::Tensor all = at::zeros({4});
    group.call("all_gather", 16, [&](ProcessGroup& members) { members.all_gather(at::zeros({2}), all); });
  });
  CHECK(failure.waited_for() == 1);
  CHECK_THAT(failure.what(), Catch::Contains("rank 1 does call 2, all_gather of 16 bytes"));
}

TEST_CASE("a rank that never comes to the meeting is named", "[ranks]") {
  const Attempt attempt(2, 500);
  try {
    attempt.join(0);
    FAIL("one rank met another that was not there");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == "collective");
    CHECK(failure.waited_for() == 1);
    CHECK_THAT(failure.what(),
               Catch::StartsWith("call 1, meeting, failed after ") && Catch::Contains("rank 1 never began"));
  }
}

TEST_CASE("what a library lacks is said alike on every rank, and the group goes on", "[ranks]") {
  const Attempt attempt(2);
  in_threads(2, [&](int rank) {
    RankGroup group = attempt.join(rank);
    try {
      group.call("none", 0, [](ProcessGroup&) { throw UnsupportedCollective("Gloo has none"); });
      throw std::runtime_error("it was made");
    } catch (const UnsupportedCollective&) {
    }
    group.barrier();
  });
  const Position last = *read_position(attempt.folder_of(0) / "position");
  CHECK(last.entered == 3);
  CHECK(last.left == 3);
}

}  // namespace
}  // namespace reprobench
