#include "kernels/latency/latency_device.hpp"

#include <algorithm>

#include "kernels/device/device_memory.hpp"
#include "kernels/latency/chain.hpp"
#include "kernels/latency/latency_kernels.hpp"

namespace reprobench {

AccessLatency measure_latency(DeviceKernels& kernels, std::uint64_t bytes, std::uint64_t steps, DeviceStream stream) {
  constexpr std::uint64_t kStrideWords = 128 / sizeof(std::uint64_t);
  constexpr std::uint32_t kSeed = 1;
  const std::uint64_t nodes = std::max<std::uint64_t>(2, bytes / 128);
  const std::vector<std::uint64_t> chain = make_chain(nodes, kStrideWords, kSeed);
  DeviceBuffer<std::uint64_t> memory(kernels.context(), chain.size());
  DeviceBuffer<LatencyResult> result(kernels.context(), 1);
  memory.copy_from(chain, stream);
  kernels.launch<LatencyChase>(stream, 1, memory.data(), std::uint64_t{0}, nodes, result.data());
  kernels.launch<LatencyChase>(stream, 1, memory.data(), std::uint64_t{0}, steps, result.data());
  LatencyResult measured{};
  result.copy_to({&measured, 1}, stream);
  kernels.context().synchronize(stream);
  const auto count = static_cast<double>(std::max<std::uint64_t>(1, steps));
  return {static_cast<double>(measured.cycles) / count, static_cast<double>(measured.time_ns) / count,
          measured.end == walk_chain(chain, 0, steps)};
}

}  // namespace reprobench
