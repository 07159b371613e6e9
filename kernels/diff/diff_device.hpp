// The difference of two tensors in device memory, as diff.hpp has it for host memory.
#pragma once

#include "kernels/device/device_kernels.hpp"
#include "kernels/diff/diff.hpp"

namespace reprobench {

// Addresses are multiples of the element's size. Everything but the two sums equals diff of the same bytes; the sums
// are added in another fixed order (diff_kernels.hpp), the same for any launch shape. Waits for the stream.
Difference diff(DeviceKernels& kernels, ElementType type, DevicePointer<const unsigned char> a,
                DevicePointer<const unsigned char> b, std::uint64_t element_count, DeviceStream stream);

}  // namespace reprobench
