// The kernel of the fixed-order sum as the device code and its callers both see them.
#pragma once

#include "kernels/device/device_pointer.hpp"

namespace reprobench {

constexpr uint32_t kReduceLanes = 1024;
constexpr uint32_t kReduceChunk = 16 * kReduceLanes;  // elements

// The sums of all chunks, one element each: values, how many, sums.
struct ReduceSumFp32 {
  static constexpr char kModule[] = "reduce";
  static constexpr char kName[] = "reduce_sum_fp32";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<const float>, uint64_t, DevicePointer<float>);
};

}  // namespace reprobench
