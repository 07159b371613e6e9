#include "kernels/device/simt/simt.hpp"

#include <numeric>
#include <stdexcept>
#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

constexpr simt::Order kOrders[] = {simt::Order::forward, simt::Order::backward, simt::Order::shuffled};

TEST_CASE("every thread of every block runs once, in every order", "[simt]") {
  for (const simt::Order order : kOrders) {
    std::vector<int> runs(3 * 40);
    simt::run(3, 40, order, [&] { ++runs[blockIdx.x * blockDim.x + threadIdx.x]; });
    CHECK(runs == std::vector<int>(120, 1));
  }
}

TEST_CASE("threads see each other's shared memory after a barrier", "[simt]") {
  for (const simt::Order order : kOrders) {
    std::vector<unsigned> seen(2 * 100);
    simt::run(2, 100, order, [&] {
      __shared__ unsigned values[100];
      values[threadIdx.x] = threadIdx.x + 1000 * blockIdx.x;
      __syncthreads();
      seen[blockIdx.x * 100 + threadIdx.x] = values[99 - threadIdx.x];
    });
    for (unsigned i = 0; i < 200; ++i) CHECK(seen[i] == 99 - i % 100 + 1000 * (i / 100));
  }
}

TEST_CASE("a missing barrier shows: the result depends on the order of threads", "[simt]") {
  std::vector<unsigned> last;
  for (const simt::Order order : kOrders) {
    unsigned winner = 0;
    simt::run(1, 64, order, [&] { winner = threadIdx.x; });
    last.push_back(winner);
  }
  CHECK(last[0] == 63);
  CHECK(last[1] == 0);
}

TEST_CASE("shared memory holds nothing of the block before", "[simt]") {
  std::vector<unsigned> found(2);
  simt::run(2, 1, simt::Order::forward, [&] {
    __shared__ unsigned value;
    found[blockIdx.x] = value;
    value = 7;
  });
  CHECK(found == std::vector<unsigned>(2, 0xa5a5a5a5u));
}

TEST_CASE("shuffles exchange values within a warp, also with a short last warp", "[simt]") {
  for (const simt::Order order : kOrders) {
    std::vector<double> sums(48);
    std::vector<unsigned> ballots(48);
    std::vector<int> down(48);
    simt::run(1, 48, order, [&] {
      const unsigned t = threadIdx.x;
      double sum = t;
      for (int lanes = 8; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
      sums[t] = sum;
      ballots[t] = __ballot_sync(~0u, t % 2 == 0);
      down[t] = __shfl_down_sync(~0u, static_cast<int>(t), 1);
    });
    for (unsigned t = 0; t < 48; ++t) {
      CHECK(sums[t] == 16 * (t / 16 * 16) + 120);
      CHECK(ballots[t] == (t < 32 ? 0x55555555u : 0x5555u));
    }
    CHECK(down[0] == 1);
    CHECK(down[30] == 31);
    CHECK(down[31] == 31);
  }
}

TEST_CASE("a barrier that part of a block never reaches is an error and not a hang", "[simt]") {
  const auto divergent = [] {
    if (threadIdx.x < 32) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  };
  CHECK_NOTHROW(simt::run(1, 64, simt::Order::forward, divergent));  // threads that return no longer take part
  const auto stuck = [] {
    if (threadIdx.x == 0) {
      __syncthreads();
    } else {
      __syncwarp();
      __syncthreads();
    }
  };
  CHECK_THROWS_AS(simt::run(1, 32, simt::Order::forward, stuck), std::logic_error);
  int runs = 0;
  simt::run(1, 32, simt::Order::forward, [&] { ++runs; });
  CHECK(runs == 32);
}

}  // namespace
}  // namespace reprobench
