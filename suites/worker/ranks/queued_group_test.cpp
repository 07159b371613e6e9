// How the host deals with a library that works asynchronously: it waits, asks, gives up.
#include "suites/worker/ranks/queued_group.hpp"

#include <atomic>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "suites/worker/ranks/in_threads.hpp"
#include "suites/worker/ranks/library_log.hpp"
#include "suites/worker/ranks/meeting.hpp"
#include "suites/worker/ranks/meeting_file.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;

// One that does nothing by itself: the test says what it answers.
class ScriptedQueue final : public CollectiveQueue {
 public:
  std::function<void()> on_queue = [] {};
  std::function<bool()> done = [] { return true; };
  std::function<std::string()> what_is_wrong = [] { return std::string(); };
  std::function<void()> on_abort = [] {};
  std::atomic<int> queued = 0;
  std::atomic<int> aborted = 0;

  std::string_view library() const override { return "scripted"; }
  c10::Device where() const override { return at::kCPU; }
  void all_reduce(at::Tensor&) override { queue(); }
  void reduce(at::Tensor&, int) override { queue(); }
  void broadcast(at::Tensor&, int) override { queue(); }
  void all_gather(const at::Tensor&, at::Tensor&) override { queue(); }
  void reduce_scatter(const at::Tensor&, at::Tensor&) override { queue(); }
  void all_to_all(const at::Tensor&, at::Tensor&) override { queue(); }
  void shift(const at::Tensor&, at::Tensor&) override { queue(); }
  void barrier() override { queue(); }
  bool is_done() override { return done(); }
  std::string trouble() override { return what_is_wrong(); }
  void abort() noexcept override {
    ++aborted;
    on_abort();
  }

 private:
  void queue() {
    ++queued;
    on_queue();
  }
};

TEST_CASE("every collective is queued once and returns when it is done, not before", "[ranks]") {
  const auto queue = std::make_shared<ScriptedQueue>();
  const auto group = waiting_for(queue, milliseconds(10'000));
  at::Tensor a = at::zeros({2});
  at::Tensor b = at::zeros({2});
  int asked = 0;
  queue->done = [&] { return ++asked % 5 == 0; };
  const std::function<void()> calls[] = {
      [&] { group->all_reduce(a); },    [&] { group->reduce(a, 0); }, [&] { group->broadcast(a, 0); },
      [&] { group->all_gather(a, b); }, [&] { group->shift(a, b); },  [&] { group->reduce_scatter(a, b); },
      [&] { group->all_to_all(a, b); }, [&] { group->barrier(); },
  };
  int made = 0;
  for (const auto& call : calls) {
    call();
    CHECK(queue->queued == ++made);
    CHECK(asked == 5 * made);
  }
  CHECK(queue->aborted == 0);
}

TEST_CASE("a call that does not end in time is given up, and no other is made after it", "[ranks]") {
  const auto queue = std::make_shared<ScriptedQueue>();
  const auto group = waiting_for(queue, milliseconds(60));
  queue->done = [] { return false; };
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(group->barrier(), "it did not end in 60 ms");
  CHECK(std::chrono::steady_clock::now() - began >= milliseconds(60));
  CHECK(queue->aborted == 1);
  queue->done = [] { return true; };
  CHECK_THROWS_AS(group->barrier(), CollectiveError);
  CHECK(queue->queued == 1);
  CHECK(queue->aborted == 1);
}

TEST_CASE("an error that comes up meanwhile ends the call long before its time", "[ranks]") {
  const auto queue = std::make_shared<ScriptedQueue>();
  const auto group = waiting_for(queue, milliseconds(60'000));
  queue->done = [] { return false; };
  queue->what_is_wrong = [] { return std::string("remote process exited"); };
  CHECK_THROWS_WITH(group->barrier(), "remote process exited");
  CHECK(queue->aborted == 1);
}

TEST_CASE("an error counts though the device is done", "[ranks]") {
  const auto queue = std::make_shared<ScriptedQueue>();
  queue->what_is_wrong = [] { return std::string("remote process exited"); };
  CHECK_THROWS_WITH(waiting_for(queue, milliseconds(60'000))->barrier(), "remote process exited");
  CHECK(queue->aborted == 1);
}

TEST_CASE("an abort that hangs does not keep anybody from saying why", "[ranks]") {
  const auto queue = std::make_shared<ScriptedQueue>();
  std::atomic<bool> may_end = false;
  queue->done = []() -> bool { throw RunFailure("illegal_address", "waiting for a collective: illegal address"); };
  queue->on_abort = [&] {
    while (!may_end) std::this_thread::sleep_for(milliseconds(1));
  };
  auto group = waiting_for(queue, milliseconds(60'000));
  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(group->barrier(), RunFailure);
  group.reset();
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
  may_end = true;
  while (queue.use_count() > 1) std::this_thread::sleep_for(milliseconds(1));  // its thread lets go of it
}

TEST_CASE("what the library lacks leaves the communicator as it was", "[ranks]") {
  const auto queue = std::make_shared<ScriptedQueue>();
  const auto group = waiting_for(queue, milliseconds(10'000));
  queue->on_queue = [] { throw UnsupportedCollective("no such type"); };
  CHECK_THROWS_AS(group->barrier(), UnsupportedCollective);
  queue->on_queue = [] {};
  group->barrier();
  CHECK(queue->aborted == 0);
}

// Rank 0's library is never done with the second call, which rank 1 does not come to; or fails by itself there.
std::unique_ptr<ProcessGroup> join_stuck(const Meeting& meeting) {
  auto queue = std::make_shared<ScriptedQueue>();
  queue->done = [&number = queue->queued] { return number < 2; };
  return waiting_for(queue, meeting.timeout);
}

std::unique_ptr<ProcessGroup> join_broken(const Meeting& meeting) {
  auto queue = std::make_shared<ScriptedQueue>();
  queue->done = [] { return false; };
  queue->what_is_wrong = []() -> std::string { throw CollectiveError("unhandled cuda error (NCCL 22705)"); };
  return waiting_for(queue, meeting.timeout);
}

RunFailure failure_of_rank_0(JoinGroup join) {
  const TemporaryFolder attempt;
  CellRequest request;
  request.world_size = 2;
  request.collective_timeout_ms = 200;
  for (const char* rank : {"rank-0", "rank-1"}) std::filesystem::create_directory(attempt.path() / rank);
  PositionFile other(attempt.path() / "rank-1" / "position");
  other.enter("meeting", 0, "rendezvous");
  other.leave();
  try {
    RankGroup group(request, attempt.path() / "rank-0", join);
    group.barrier();
    group.barrier();
  } catch (const RunFailure& failure) {
    return failure;
  }
  throw std::runtime_error("nothing failed");
}

TEST_CASE("a call on a device that does not end names the rank that never came", "[ranks]") {
  const RunFailure failure = failure_of_rank_0(&join_stuck);
  CHECK(failure.cause() == "collective");
  CHECK(failure.waited_for() == 1);
  CHECK_THAT(failure.what(),
             Catch::StartsWith("call 3, barrier, failed after ") &&
                 Catch::Contains(" s: rank 1 never entered it: its last is call 1, meeting (rendezvous), done ("
                                 "it did not end in 200 ms)"));
}

TEST_CASE("who fails by itself blames nobody, though the other rank is not there", "[ranks]") {
  const RunFailure failure = failure_of_rank_0(&join_broken);
  CHECK(failure.cause() == "collective_error");
  CHECK_FALSE(failure.waited_for());
  CHECK(std::string(failure.what()) == "call 2, barrier: unhandled cuda error (NCCL 22705)");
}

TEST_CASE("a request for a GPU joins over NCCL, one for the CPU over Gloo", "[ranks]") {
  CellRequest request;
  request.device = "cpu";
  CHECK(join_of(request) == &join_gloo);
  request.device = "sm_90";
  CHECK(join_of(request) != &join_gloo);
}

TEST_CASE("ranks that are not Gloo's are refused a store to meet at, before anybody waits", "[ranks]") {
  const TemporaryFolder attempt;
  std::filesystem::create_directory(attempt.path() / "rank-0");
  CellRequest request;
  request.world_size = 2;
  request.knobs["rendezvous"] = "tcp";
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", "29999", 1);
  try {
    RankGroup(request, attempt.path() / "rank-0", &join_stuck);
    FAIL("no throw");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == "unsupported");
    CHECK_THAT(failure.what(), Catch::StartsWith("`rendezvous: tcp` is of ranks on the CPU"));
  }
}

TEST_CASE("what rank 0 leaves for the others is read whole, once, and never twice over", "[ranks]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "rendezvous";
  std::string taken;
  in_threads(2, [&](int rank) {
    if (rank == 1) taken = take_from_rank_0(file, 128, milliseconds(20'000));
    if (rank == 0) std::this_thread::sleep_for(milliseconds(30));
    if (rank == 0) leave_for_ranks(file, std::string(128, '\0'));
  });
  CHECK(taken == std::string(128, '\0'));
  CHECK_THROWS_WITH(leave_for_ranks(file, "another"), Catch::StartsWith("rendezvous: "));
  CHECK_THROWS_WITH(take_from_rank_0(file, 64, milliseconds(10)), "rendezvous: it has 128 bytes instead of 64");
  CHECK_THROWS_WITH(take_from_rank_0(folder.path() / "none", 64, milliseconds(30)), "none: rank 0 left none in 30 ms");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // no file half written
}

TEST_CASE("a library's log is read line by line as it grows", "[ranks]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "nccl.log";
  LibraryLog log(file);
  CHECK(log.take().empty());  // it is not there yet
  std::ofstream out(file);
  out << "one\ntw" << std::flush;
  CHECK(log.take() == "one\n");
  out << "o\n" << std::flush;
  CHECK(log.take() == "two\n");
  CHECK(log.take().empty());
  CHECK(LibraryLog("").take().empty());
}

}  // namespace
}  // namespace reprobench
