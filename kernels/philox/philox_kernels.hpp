// The kernels that fill tensors with random numbers, as the device code and its callers both see them. The CPU twins
// and the definitions are in philox_fill.hpp.
#pragma once

#include "kernels/device/device_pointer.hpp"
#include "kernels/philox/philox.hpp"

namespace reprobench {

// sequence, how many, values
struct PhiloxBits {
  static constexpr char kModule[] = "philox";
  static constexpr char kName[] = "philox_bits";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(PhiloxStream, uint64_t, DevicePointer<uint32_t>);
};

// sequence, scale, mean, how many, values
struct PhiloxBell {
  static constexpr char kModule[] = "philox";
  static constexpr char kName[] = "philox_bell";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(PhiloxStream, float, float, uint64_t, DevicePointer<float>);
};

}  // namespace reprobench
