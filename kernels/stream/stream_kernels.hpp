// The memory-bandwidth kernels (after McCalpin's STREAM) as the device code and its callers both see them. Arrays of
// fp64 at addresses that are multiples of 16, moved 16 bytes at a time.
//
// Contents are pseudo-random whole numbers below 2^20, so every result is exact and can be checked element by element.
#pragma once

#include "kernels/device/device_pointer.hpp"

namespace reprobench {

// Element `index` of the array that `seed` names. It is cheap to compute, so that writing it stays bound by memory.
RB_HOST_DEVICE inline double stream_value(uint64_t index, uint32_t seed) {
  const uint32_t mixed = (static_cast<uint32_t>(index) ^ static_cast<uint32_t>(index >> 32)) * 0x9e37'79b1u + seed;
  return static_cast<double>((mixed ^ mixed >> 15) >> 12);
}

// to[i] = stream_value(i, seed): array, elements, seed
struct StreamInit {
  static constexpr char kModule[] = "stream";
  static constexpr char kName[] = "stream_init";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<double>, uint64_t, uint32_t);
};

// to = a: from, to, elements
struct StreamCopy {
  static constexpr char kModule[] = "stream";
  static constexpr char kName[] = "stream_copy";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<const double>, DevicePointer<double>, uint64_t);
};

// to = factor a: from, to, elements, factor
struct StreamScale {
  static constexpr char kModule[] = "stream";
  static constexpr char kName[] = "stream_scale";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<const double>, DevicePointer<double>, uint64_t, double);
};

// to = a + b: a, b, to, elements
struct StreamAdd {
  static constexpr char kModule[] = "stream";
  static constexpr char kName[] = "stream_add";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<const double>, DevicePointer<const double>, DevicePointer<double>, uint64_t);
};

// to = a + factor b: a, b, to, elements, factor
struct StreamTriad {
  static constexpr char kModule[] = "stream";
  static constexpr char kName[] = "stream_triad";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<const double>, DevicePointer<const double>, DevicePointer<double>, uint64_t,
                         double);
};

// Adds the sum of all 64-bit words, modulo 2^64, to `total`: words, how many, total
struct StreamReadSum {
  static constexpr char kModule[] = "stream";
  static constexpr char kName[] = "stream_read_sum";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<const uint64_t>, uint64_t, DevicePointer<uint64_t>);
};

// The expected contents of an array: element i is factor_a stream_value(i, seed_a) + factor_b stream_value(i, seed_b).
struct StreamExpectation {
  double factor_a;
  double factor_b;
  uint32_t seed_a;
  uint32_t seed_b;
};

// Adds the number of wrong elements to `wrong`: array, elements, expectation, wrong
struct StreamCheck {
  static constexpr char kModule[] = "stream";
  static constexpr char kName[] = "stream_check";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<const double>, uint64_t, StreamExpectation, DevicePointer<uint64_t>);
};

}  // namespace reprobench
