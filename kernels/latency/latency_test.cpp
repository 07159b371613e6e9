#include <algorithm>
#include <numeric>

#include "ci/catch.hpp"
#include "kernels/device/emulated_device.hpp"
#include "kernels/latency/chain.hpp"
#include "kernels/latency/latency_device.hpp"
#include "kernels/latency/latency_kernels.hpp"

namespace reprobench {
namespace {

TEST_CASE("a chain is one cycle through all nodes", "[latency]") {
  for (const std::uint64_t nodes : {1u, 2u, 3u, 100u, 4096u}) {
    for (const std::uint64_t stride : {1u, 16u}) {
      const auto chain = make_chain(nodes, stride, 7);
      REQUIRE(chain.size() == nodes * stride);
      std::vector<std::uint64_t> visited{0};
      for (std::uint64_t at = chain[0]; at != 0 && visited.size() <= nodes; at = chain[at]) visited.push_back(at);
      std::sort(visited.begin(), visited.end());
      std::vector<std::uint64_t> all(nodes);
      for (std::uint64_t i = 0; i < nodes; ++i) all[i] = i * stride;
      CHECK(visited == all);
      CHECK(walk_chain(chain, 0, nodes) == 0);
    }
  }
}

TEST_CASE("a chain hardly ever leads to a neighbour", "[latency]") {
  const auto chain = make_chain(4096, 1, 7);
  int neighbours = 0;
  for (std::uint64_t i = 0; i < 4095; ++i) neighbours += chain[i] == i + 1;
  CHECK(neighbours < 10);  // one is expected
  CHECK(make_chain(4096, 1, 8) != chain);
  CHECK(make_chain(4096, 1, 7) == chain);
}

TEST_CASE("the device's chase ends where the CPU's does", "[latency][device]") {
  const auto chain = make_chain(1000, 16, 3);
  EmulatedDevice device;
  DeviceBuffer<std::uint64_t> memory(device.context(), chain.size());
  memory.copy_from(chain, nullptr);
  DeviceBuffer<LatencyResult> result(device.context(), 1);
  for (const std::uint64_t steps : {0u, 1u, 999u, 1000u, 1234u}) {
    device.kernels().launch<LatencyChase>(nullptr, 1, memory.data(), std::uint64_t{160}, steps, result.data());
    CHECK(copied_to_host(result, 1)[0].end == walk_chain(chain, 160, steps));
  }
}

TEST_CASE("a latency is told for one access, with its proof", "[latency][device]") {
  EmulatedDevice device;
  const AccessLatency latency = measure_latency(device.kernels(), 1 << 20, 100'000, nullptr);
  CHECK(latency.correct);
  CHECK(latency.time_ns > 0);
  if (!EmulatedDevice::is_emulated()) return;
  CHECK(latency.cycles == Approx(1.5 * latency.time_ns).epsilon(0.2));  // the emulated clock is 1.5 GHz
}

}  // namespace
}  // namespace reprobench
