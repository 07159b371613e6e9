#include "kernels/reduce/reduce_device.hpp"

#include <algorithm>

namespace reprobench {
namespace {

std::uint64_t chunks_of(std::uint64_t count) { return (count + kReduceChunk - 1) / kReduceChunk; }

}  // namespace

void DeviceSum::enqueue(DevicePointer<const float> values, std::uint64_t count, DevicePointer<float> result,
                        DeviceStream stream) {
  std::uint64_t scratch = 0;
  for (std::uint64_t n = chunks_of(count); n > 1; n = chunks_of(n)) scratch += n;
  scratch_.grow(scratch);
  DevicePointer<float> next = scratch_.data();
  while (true) {
    const std::uint64_t chunks = std::max<std::uint64_t>(1, chunks_of(count));
    const DevicePointer<float> sums = chunks == 1 ? result : next;
    kernels_.launch<ReduceSumFp32>(stream, kernels_.blocks_for<ReduceSumFp32>(chunks), values, count, sums);
    if (chunks == 1) return;
    values = sums;
    count = chunks;
    next = next + chunks;
  }
}

float DeviceSum::sum(DevicePointer<const float> values, std::uint64_t count, DeviceStream stream) {
  one_.grow(1);
  enqueue(values, count, one_.data(), stream);
  float sum = 0;
  one_.copy_to({&sum, 1}, stream);
  kernels_.context().synchronize(stream);
  return sum;
}

}  // namespace reprobench
