// The fixed-order sum (reduce.hpp) of a tensor in device memory.
#pragma once

#include "kernels/device/device_kernels.hpp"
#include "kernels/device/device_memory.hpp"
#include "kernels/reduce/reduce_kernels.hpp"

namespace reprobench {

// Keeps its scratch memory between calls, so calls on one object belong on one stream.
class DeviceSum {
 public:
  // `kernels` outlives it.
  explicit DeviceSum(DeviceKernels& kernels)
      : kernels_(kernels), scratch_(kernels.context()), one_(kernels.context()) {}

  // Enqueues the sum into `*result` on the device. No wait.
  void enqueue(DevicePointer<const float> values, std::uint64_t count, DevicePointer<float> result,
               DeviceStream stream);

  // The sum on the host; waits for the stream.
  float sum(DevicePointer<const float> values, std::uint64_t count, DeviceStream stream);

 private:
  DeviceKernels& kernels_;
  DeviceBuffer<float> scratch_;
  DeviceBuffer<float> one_;
};

}  // namespace reprobench
