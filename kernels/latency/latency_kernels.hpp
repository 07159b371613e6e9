// The pointer chase as the device code and its callers both see it.
#pragma once

#include "kernels/device/device_pointer.hpp"

namespace reprobench {

struct LatencyResult {
  uint64_t end;     // where the chase ended
  uint64_t cycles;  // of the multiprocessor's clock
  uint64_t time_ns;
};

// One thread follows a chain (latency/chain.hpp): chain, start, steps, result
struct LatencyChase {
  static constexpr char kModule[] = "latency";
  static constexpr char kName[] = "latency_chase";
  static constexpr uint32_t kThreads = 1;
  using Signature = void(DevicePointer<const uint64_t>, uint64_t, uint64_t, DevicePointer<LatencyResult>);
};

}  // namespace reprobench
