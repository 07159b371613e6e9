// For tests of this layer: what NVML says of a healthy GPU, ten times a second.
#pragma once

#include "matrix/contract/device/telemetry.hpp"

namespace reprobench {

inline constexpr std::int64_t kPeriod_ns = 100'000'000;

inline void set(TelemetrySample& sample, Quantity quantity, std::int64_t value) {
  sample.values[static_cast<std::size_t>(quantity)] = value;
}

inline TelemetrySample healthy_reading(int index) {
  TelemetrySample sample;
  sample.at_ns = index * kPeriod_ns;
  sample.own_pids = {4'242};
  set(sample, Quantity::sm_clock_mhz, 1'980);
  set(sample, Quantity::clock_events, 0);
  set(sample, Quantity::thermal_violation_ns, 7);
  return sample;
}

}  // namespace reprobench
