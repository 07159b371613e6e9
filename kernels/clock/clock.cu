// The timer moves in steps of up to a microsecond or more, so both ends of a sample are taken right after a step.
#include "kernels/clock/clock_kernels.hpp"
#include "kernels/device/device_code.hpp"

namespace reprobench {
namespace {

constexpr uint32_t kPatience = 1u << 22;  // reads of the timer, some 20 ns each: a kernel must end

struct Moment {
  uint64_t ns;
  uint64_t cycles;
  bool stepped;
};

// The first step of the timer at or after `not_before_ns`.
__device__ Moment next_step(uint64_t not_before_ns) {
  uint64_t last = global_timer_ns();
  for (uint32_t reads = 0; reads < kPatience; ++reads) {
    const uint64_t now = global_timer_ns();
    if (now != last && now >= not_before_ns) return {now, cycle_counter(), true};
    last = now;
  }
  return {last, cycle_counter(), false};
}

}  // namespace

extern "C" __global__ void clock_sample(uint64_t duration_ns, DevicePointer<ClockSample> samples) {
  const Moment begin = next_step(0);
  const Moment end = next_step(begin.ns + duration_ns);
  ClockSample& sample = samples[blockIdx.x];
  sample.begin_ns = begin.ns;
  sample.end_ns = end.ns;
  sample.begin_cycles = begin.cycles;
  sample.end_cycles = end.cycles;
  sample.multiprocessor = multiprocessor_id();
  sample.complete = begin.stepped && end.stepped;
}

RB_CHECK_KERNEL(clock_sample, ClockSampler);

}  // namespace reprobench
