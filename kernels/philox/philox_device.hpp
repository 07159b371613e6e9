// Random numbers drawn on the device, with the bits of philox_fill.hpp. Each call enqueues one launch and does not
// wait.
#pragma once

#include "kernels/device/device_kernels.hpp"
#include "kernels/philox/philox_kernels.hpp"

namespace reprobench {

void fill_bits(DeviceKernels& kernels, PhiloxStream sequence, DevicePointer<std::uint32_t> values, std::uint64_t count,
               DeviceStream stream);
void fill_bell(DeviceKernels& kernels, PhiloxStream sequence, float scale, float mean, DevicePointer<float> values,
               std::uint64_t count, DeviceStream stream);

}  // namespace reprobench
