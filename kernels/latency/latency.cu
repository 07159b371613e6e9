// One thread, one load at a time: the address of each comes from the load before.
#include "kernels/device/device_code.hpp"
#include "kernels/latency/latency_kernels.hpp"

namespace reprobench {

extern "C" __global__ void latency_chase(DevicePointer<const uint64_t> chain, uint64_t start, uint64_t steps,
                                         DevicePointer<LatencyResult> result) {
  const uint64_t begin_ns = global_timer_ns();
  const uint64_t begin_cycles = cycle_counter();
  uint64_t at = start;
#pragma unroll 1
  for (uint64_t step = 0; step < steps; ++step) at = chain[at];
  result->end = at;  // before the clocks are read again: the chase has to be over
  const uint64_t end_cycles = cycle_counter() + (at == ~0ull);
  result->cycles = end_cycles - begin_cycles;
  result->time_ns = global_timer_ns() - begin_ns;
}

RB_CHECK_KERNEL(latency_chase, LatencyChase);

}  // namespace reprobench
