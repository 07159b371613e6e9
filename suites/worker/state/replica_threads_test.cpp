#include "suites/worker/state/replica_threads.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("the work of all replicas is under way at once, the first one's in the calling thread", "[replicas]") {
  constexpr int kReplicas = 4;
  ReplicaThreads threads(kReplicas);
  std::vector<std::thread::id> of(kReplicas);
  for (int round = 1; round <= 3; ++round) {
    std::atomic<int> begun = 0;
    std::atomic<int> alone = 0;  // that waited in vain for the others to begin
    threads.run([&](int replica) {
      of[static_cast<std::size_t>(replica)] = std::this_thread::get_id();
      ++begun;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (begun < kReplicas && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      if (begun < kReplicas) ++alone;
    });
    CHECK(begun == kReplicas);
    CHECK(alone == 0);
  }
  CHECK(of[0] == std::this_thread::get_id());
  for (std::size_t replica = 1; replica < of.size(); ++replica) CHECK(of[replica] != of[replica - 1]);
}

TEST_CASE("a replica keeps its thread from round to round", "[replicas]") {
  ReplicaThreads threads(2);
  std::vector<std::thread::id> of_round;
  for (int round = 0; round < 3; ++round) {
    threads.run([&](int replica) {
      if (replica == 1) of_round.push_back(std::this_thread::get_id());
    });
  }
  REQUIRE(of_round.size() == 3);
  CHECK(of_round[1] == of_round[0]);
  CHECK(of_round[2] == of_round[0]);
}

TEST_CASE("of several replicas that throw the lowest one's exception comes through once all have ended", "[replicas]") {
  ReplicaThreads threads(3);
  std::atomic<int> ended = 0;
  const auto thrown_by = [&](int first) -> std::string {
    try {
      threads.run([&](int replica) {
        ++ended;
        if (replica >= first) throw std::runtime_error("replica " + std::to_string(replica));
      });
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "nothing";
  };
  CHECK(thrown_by(1) == "replica 1");
  CHECK(ended == 3);
  CHECK(thrown_by(0) == "replica 0");
  CHECK(thrown_by(3) == "nothing");  // what was thrown before is forgotten
  CHECK(ended == 9);
}

}  // namespace
}  // namespace reprobench
