// Latency of one dependent access to device memory or its caches, by pointer chase.
#pragma once

#include "kernels/device/device_kernels.hpp"

namespace reprobench {

struct AccessLatency {
  double cycles = 0;     // of one access
  double time_ns = 0;    // of one access
  bool correct = false;  // the chase ended where the CPU's ended; else both numbers are meaningless
};

// Chases `steps` steps through a chain of `bytes` bytes with one node every 128 bytes, a cache line, after one pass
// that fills the caches with as much as fits. Waits for the stream.
AccessLatency measure_latency(DeviceKernels& kernels, std::uint64_t bytes, std::uint64_t steps, DeviceStream stream);

}  // namespace reprobench
