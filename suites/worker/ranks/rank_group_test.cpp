// Ranks that meet over Gloo, as threads of one process.
#include "suites/worker/ranks/rank_group.hpp"

#include <cstdlib>
#include <fstream>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "ci/catch.hpp"
#include "matrix/base/file_descriptor.hpp"
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
    request.nonce = nonce;
    request.knobs = knobs;
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
  std::string nonce = "0123456789abcdef";
  KnobValues knobs = {};
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
  CHECK_FALSE(failure.calls_differ());
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
  CHECK(failure.calls_differ());
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
    CHECK_THAT(failure.what(), Catch::StartsWith("call 1, meeting (rendezvous), failed after ") &&
                                   Catch::Contains("rank 1 never began"));
  }
}

// What `work` throws in each rank; empty where it throws nothing.
std::vector<std::string> failures(const Attempt& attempt, const std::function<void(RankGroup&, int rank)>& work) {
  std::vector<std::string> said(static_cast<std::size_t>(attempt.ranks));
  in_threads(attempt.ranks, [&](int rank) {
    try {
      RankGroup group = attempt.join(rank);
      work(group, rank);
    } catch (const RunFailure& failure) {
      said[static_cast<std::size_t>(rank)] = std::to_string(failure.waited_for().value_or(-1)) + ": " + failure.what();
    }
  });
  return said;
}

TEST_CASE("a rank with another type is found in the same call, though Gloo adds up without a word", "[ranks]") {
  const Attempt attempt(3, 5'000);
  const auto said = failures(attempt, [](RankGroup& group, int rank) {
    at::Tensor values = at::full({2}, 1.0f);
    const bool is_odd = rank == 1;
    if (is_odd) values = values.view(at::kInt);
    group.call(
        "all_reduce", 8, [&](ProcessGroup& members) { members.all_reduce(values); }, is_odd ? "int32" : "fp32");
    group.barrier();
  });
  for (int rank = 0; rank < 3; ++rank) {
    INFO(said[static_cast<std::size_t>(rank)]);
    CHECK_THAT(said[static_cast<std::size_t>(rank)], Catch::StartsWith("1: "));
  }
  CHECK_THAT(said[1], Catch::Contains("this rank alone does call 2, all_reduce of 8 bytes (int32), where others do "
                                      "all_reduce of 8 bytes (fp32)"));
}

// A variable of this process, which its threads share.
struct Variable {
  Variable(const char* variable, const std::string& value) : name(variable) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name); }
  const char* name;
};

// A port that nobody listens at, or that this holds.
struct Port {
  Port() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    socklen_t length = sizeof address;
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    if (bind(socket.get(), name, length) != 0 || getsockname(socket.get(), name, &length) != 0) {
      throw std::runtime_error("no port");
    }
    number = std::to_string(ntohs(address.sin_port));
  }
  FileDescriptor socket;
  std::string number;
};

TEST_CASE("ranks meet at a TCP store as well, of which nothing is left in the folder", "[ranks]") {
  Port port;
  port.socket.reset();
  const Variable address("MASTER_ADDR", "127.0.0.1");
  const Variable number("MASTER_PORT", port.number);
  Attempt attempt(3);
  attempt.knobs = {{"rendezvous", "tcp"}};
  in_threads(3, [&](int rank) {
    RankGroup group = attempt.join(rank);
    add_up(group);
    group.barrier();
  });
  CHECK_FALSE(std::filesystem::exists(attempt.folder.path() / "rendezvous"));
  CHECK(read_position(attempt.folder_of(1) / "position")->entered == 3);
}

TEST_CASE("a port that somebody holds is named, and is no fault of the stack", "[ranks]") {
  Port port;
  REQUIRE(listen(port.socket.get(), 1) == 0);
  const Variable address("MASTER_ADDR", "127.0.0.1");
  const Variable number("MASTER_PORT", port.number);
  Attempt attempt(1, 1'000);
  attempt.ranks = 2;
  attempt.knobs = {{"rendezvous", "tcp"}};
  try {
    attempt.join(0);
    FAIL("a store was opened at a port that is taken");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == "port_in_use");
    CHECK(failure.what() == "rank 0 was to open a store at 127.0.0.1:" + port.number + ", and that port is in use");
  }
}

TEST_CASE("a store without its variables is a request that cannot be carried out", "[ranks]") {
  Attempt attempt(2);
  attempt.knobs = {{"rendezvous", "tcp"}};
  CHECK_THROWS_WITH(attempt.join(0), "knob `rendezvous` is tcp, and MASTER_ADDR is not set");
  const Variable address("MASTER_ADDR", "127.0.0.1");
  const Variable number("MASTER_PORT", "http");
  CHECK_THROWS_WITH(attempt.join(0), "MASTER_PORT=`http` is no port");
}

TEST_CASE("a rendezvous file that another attempt left says nothing to this one", "[ranks]") {
  const Attempt before(2);
  std::string stale;
  in_threads(2, [&](int rank) {
    RankGroup group = before.join(rank);
    if (rank == 0) {
      std::ifstream file(before.folder.path() / "rendezvous", std::ios::binary);
      stale.assign(std::istreambuf_iterator<char>(file), {});
    }
    group.barrier();
  });
  REQUIRE(stale.size() > 50);
  Attempt attempt(2, 3'000);
  attempt.nonce = "fedcba9876543210";
  std::ofstream(attempt.folder.path() / "rendezvous", std::ios::binary) << stale;
  in_threads(2, [&](int rank) {
    RankGroup group = attempt.join(rank);
    add_up(group);
    group.barrier();
  });
  CHECK(read_position(attempt.folder_of(1) / "position")->entered == 3);
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
