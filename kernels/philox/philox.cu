// Random numbers by counter: what an element is depends on its index alone, so any number of threads gives the same.
#include "kernels/device/device_code.hpp"
#include "kernels/philox/philox_kernels.hpp"

namespace reprobench {
namespace {

__device__ inline uint64_t first_index() { return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline uint64_t index_stride() { return static_cast<uint64_t>(gridDim.x) * blockDim.x; }

struct PlainBits {
  using Value = uint32_t;
  __device__ static uint32_t of(uint32_t word) { return word; }
};
struct Uniform {
  using Value = float;
  __device__ static float of(uint32_t word) { return uniform_unit(word); }
};

template <class T>
struct alignas(16) Four {
  T element[4];
};

// A thread makes whole blocks of four elements; only the last may be short.
template <class Draw>
__device__ void fill_words(PhiloxStream stream, uint64_t count, typename Draw::Value* values) {
  using Value = typename Draw::Value;
  const bool wide = is_aligned(values, sizeof(Four<Value>));
  for (uint64_t block = first_index(); 4 * block < count; block += index_stride()) {
    const PhiloxBlock words = keyed_block(stream, block);
    const Four<Value> drawn = {
        {Draw::of(words.word[0]), Draw::of(words.word[1]), Draw::of(words.word[2]), Draw::of(words.word[3])}};
    if (wide && 4 * block + 4 <= count) {
      reinterpret_cast<Four<Value>*>(values)[block] = drawn;
    } else {
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        if (4 * block + i < count) values[4 * block + i] = drawn.element[i];
      }
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    philox_bits(PhiloxStream stream, uint64_t count, DevicePointer<uint32_t> values) {
  fill_words<PlainBits>(stream, count, values);
}

extern "C" __global__ void __launch_bounds__(256)
    philox_uniform(PhiloxStream stream, uint64_t count, DevicePointer<float> values) {
  fill_words<Uniform>(stream, count, values);
}

extern "C" __global__ void __launch_bounds__(256)
    philox_bell(PhiloxStream stream, float scale, float mean, uint64_t count, DevicePointer<float> values) {
  for (uint64_t i = first_index(); i < count; i += index_stride()) {
    values[i] = bell_draw(keyed_block(stream, i), scale, mean);
  }
}

RB_CHECK_KERNEL(philox_bits, PhiloxBits);
RB_CHECK_KERNEL(philox_uniform, PhiloxUniform);
RB_CHECK_KERNEL(philox_bell, PhiloxBell);

}  // namespace reprobench
