// The clock that the multiprocessors of a device really run at, from inside: cycles against nanoseconds. Unlike a query
// of the driver it covers exactly the time it was taken in, so a timing can be judged in cycles as well.
#pragma once

#include <span>
#include <vector>

#include "kernels/clock/clock_kernels.hpp"
#include "kernels/device/device_kernels.hpp"
#include "kernels/device/device_memory.hpp"

namespace reprobench {

struct DeviceClock {
  double median_hz = 0;  // over the samples; 0 where none is complete
  double lowest_hz = 0;
  double highest_hz = 0;
  int multiprocessors = 0;  // that were seen
  int samples = 0;          // complete ones
};

// Incomplete samples are left out.
DeviceClock device_clock(std::span<const ClockSample> samples);

// One block for each multiprocessor, each for `duration_ns`; at 100 us a timer that steps every microsecond leaves 1 %
// of uncertainty. `kernels` outlives it.
class ClockSampling {
 public:
  explicit ClockSampling(DeviceKernels& kernels);

  void enqueue(std::uint64_t duration_ns, DeviceStream stream);  // no wait
  DeviceClock read(DeviceStream stream);                         // waits

 private:
  DeviceKernels& kernels_;
  DeviceBuffer<ClockSample> samples_;
};

}  // namespace reprobench
