// The fixed-order sum (reduce.hpp) of a tensor in device memory.
#pragma once

#include <type_traits>

#include "kernels/device/device_kernels.hpp"
#include "kernels/device/device_memory.hpp"
#include "kernels/reduce/reduce_kernels.hpp"

namespace reprobench {

// T is float or double. Keeps its scratch memory between calls, so calls on one object belong on one stream.
template <class T>
class DeviceSum {
 public:
  using Kernel = std::conditional_t<std::is_same_v<T, float>, ReduceSumFp32, ReduceSumFp64>;

  // `kernels` outlives it.
  explicit DeviceSum(DeviceKernels& kernels)
      : kernels_(kernels), scratch_(kernels.context()), one_(kernels.context()) {}

  // Enqueues the sum into `*result` on the device. No wait.
  void enqueue(DevicePointer<const T> values, std::uint64_t count, DevicePointer<T> result, DeviceStream stream);

  // The sum on the host; waits for the stream.
  T sum(DevicePointer<const T> values, std::uint64_t count, DeviceStream stream);

 private:
  DeviceKernels& kernels_;
  DeviceBuffer<T> scratch_;
  DeviceBuffer<T> one_;
};

}  // namespace reprobench
