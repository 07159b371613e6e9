#include "kernels/philox/philox_device.hpp"

#include <algorithm>

namespace reprobench {
void fill_bits(DeviceKernels& kernels, PhiloxStream sequence, DevicePointer<std::uint32_t> values, std::uint64_t count,
               DeviceStream stream) {
  kernels.launch<PhiloxBits>(stream, kernels.blocks_for_threads<PhiloxBits>((count + 3) / 4), sequence, count, values);
}

void fill_bell(DeviceKernels& kernels, PhiloxStream sequence, float scale, float mean, DevicePointer<float> values,
               std::uint64_t count, DeviceStream stream) {
  kernels.launch<PhiloxBell>(stream, kernels.blocks_for_threads<PhiloxBell>(count), sequence, scale, mean, count,
                             values);
}

}  // namespace reprobench
