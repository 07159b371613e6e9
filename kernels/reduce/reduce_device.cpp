#include "kernels/reduce/reduce_device.hpp"

#include <algorithm>

namespace reprobench {
namespace {

std::uint64_t chunks_of(std::uint64_t count) { return (count + kReduceChunk - 1) / kReduceChunk; }

}  // namespace

template <class T>
void DeviceSum<T>::enqueue(DevicePointer<const T> values, std::uint64_t count, DevicePointer<T> result,
                           DeviceStream stream) {
  std::uint64_t scratch = 0;
  for (std::uint64_t n = chunks_of(count); n > 1; n = chunks_of(n)) scratch += n;
  scratch_.grow(scratch);
  DevicePointer<T> next = scratch_.data();
  while (true) {
    const std::uint64_t chunks = std::max<std::uint64_t>(1, chunks_of(count));
    const DevicePointer<T> sums = chunks == 1 ? result : next;
    kernels_.template launch<Kernel>(stream, kernels_.template blocks_for<Kernel>(chunks), values, count, sums);
    if (chunks == 1) return;
    values = sums;
    count = chunks;
    next = next + chunks;
  }
}

template <class T>
T DeviceSum<T>::sum(DevicePointer<const T> values, std::uint64_t count, DeviceStream stream) {
  one_.grow(1);
  enqueue(values, count, one_.data(), stream);
  T sum = 0;
  one_.copy_to({&sum, 1}, stream);
  kernels_.context().synchronize(stream);
  return sum;
}

template class DeviceSum<float>;
template class DeviceSum<double>;

}  // namespace reprobench
