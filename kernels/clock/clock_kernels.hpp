// The clock sampler as the device code and its callers both see it.
#pragma once

#include "kernels/device/device_pointer.hpp"

namespace reprobench {

// Both clocks of one multiprocessor at two moments.
struct ClockSample {
  uint64_t begin_ns;  // of the timer that all multiprocessors share
  uint64_t end_ns;
  uint64_t begin_cycles;
  uint64_t end_cycles;
  uint32_t multiprocessor;
  uint32_t complete;  // 0: the timer stood still until the thread gave up
};

// One sample a block, over at least this long: duration in ns, samples
struct ClockSampler {
  static constexpr char kModule[] = "clock";
  static constexpr char kName[] = "clock_sample";
  static constexpr uint32_t kThreads = 1;
  using Signature = void(uint64_t, DevicePointer<ClockSample>);
};

}  // namespace reprobench
