// Random numbers by counter: an element depends on its index alone, so any number of threads gives the same.
#include "kernels/device/device_code.hpp"
#include "kernels/philox/philox_kernels.hpp"

namespace reprobench {
namespace {

__device__ inline uint64_t first_index() { return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline uint64_t index_stride() { return static_cast<uint64_t>(gridDim.x) * blockDim.x; }

struct alignas(16) FourWords {
  uint32_t word[4];
};

}  // namespace

// A thread makes whole blocks of four elements; only the last may be short.
extern "C" __global__ void __launch_bounds__(256)
    philox_bits(PhiloxStream stream, uint64_t count, DevicePointer<uint32_t> values) {
  const bool wide = is_aligned(values, sizeof(FourWords));
  for (uint64_t block = first_index(); 4 * block < count; block += index_stride()) {
    const PhiloxBlock drawn = keyed_block(stream, block);
    if (wide && 4 * block + 4 <= count) {
      reinterpret_cast<FourWords*>(values)[block] = {{drawn.word[0], drawn.word[1], drawn.word[2], drawn.word[3]}};
    } else {
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        if (4 * block + i < count) values[4 * block + i] = drawn.word[i];
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
    philox_bell(PhiloxStream stream, float scale, float mean, uint64_t count, DevicePointer<float> values) {
  for (uint64_t i = first_index(); i < count; i += index_stride()) {
    values[i] = bell_draw(keyed_block(stream, i), scale, mean);
  }
}

RB_CHECK_KERNEL(philox_bits, PhiloxBits);
RB_CHECK_KERNEL(philox_bell, PhiloxBell);

}  // namespace reprobench
