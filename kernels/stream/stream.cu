// Each thread moves 16 bytes at a time, four of them in flight, with the whole grid's stride between: neighbouring
// threads touch neighbouring memory. An odd last element is left to one thread. Loops are not unrolled further: for
// some architectures the compiler would take 120 registers for a copy.
#include "kernels/device/device_code.hpp"
#include "kernels/stream/stream_kernels.hpp"

namespace reprobench {
namespace {

constexpr uint32_t kInFlight = 4;

struct alignas(16) DoublePair {
  double x;
  double y;
};

__device__ inline uint64_t first_index() { return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline uint64_t index_stride() { return static_cast<uint64_t>(gridDim.x) * blockDim.x; }

// Calls load(i) for several pairs, then store(i, loaded) for the same pairs.
template <class Load, class Store>
__device__ inline void for_each_pair(uint64_t pairs, Load load, Store store) {
  const uint64_t stride = index_stride();
  uint64_t i = first_index();
#pragma unroll 1
  for (; i + (kInFlight - 1) * stride < pairs; i += kInFlight * stride) {
    decltype(load(i)) loaded[kInFlight];
#pragma unroll
    for (uint32_t k = 0; k < kInFlight; ++k) loaded[k] = load(i + k * stride);
#pragma unroll
    for (uint32_t k = 0; k < kInFlight; ++k) store(i + k * stride, loaded[k]);
  }
#pragma unroll 1
  for (; i < pairs; i += stride) store(i, load(i));
}

__device__ inline bool has_odd_element(uint64_t count) { return count % 2 != 0 && first_index() == 0; }

struct TwoPairs {
  DoublePair a;
  DoublePair b;
};

__device__ inline const DoublePair* pairs_of(const double* values) {
  return reinterpret_cast<const DoublePair*>(values);
}
__device__ inline DoublePair* pairs_of(double* values) { return reinterpret_cast<DoublePair*>(values); }

// to = map(from), element by element.
template <class Map>
__device__ inline void map_one(const double* from, double* to, uint64_t count, Map map) {
  for_each_pair(
      count / 2, [&](uint64_t i) { return pairs_of(from)[i]; },
      [&](uint64_t i, DoublePair v) {
        pairs_of(to)[i] = DoublePair{map(v.x), map(v.y)};
      });
  if (has_odd_element(count)) to[count - 1] = map(from[count - 1]);
}

// to = map(a, b), element by element.
template <class Map>
__device__ inline void map_two(const double* a, const double* b, double* to, uint64_t count, Map map) {
  for_each_pair(
      count / 2,
      [&](uint64_t i) {
        return TwoPairs{pairs_of(a)[i], pairs_of(b)[i]};
      },
      [&](uint64_t i, TwoPairs v) {
        pairs_of(to)[i] = DoublePair{map(v.a.x, v.b.x), map(v.a.y, v.b.y)};
      });
  if (has_odd_element(count)) to[count - 1] = map(a[count - 1], b[count - 1]);
}

// Adds every thread's count to `total`, one atomic operation a warp.
__device__ void add_to_total(uint64_t own, uint64_t* total) {
#pragma unroll
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) own += __shfl_xor_sync(kAllLanes, own, lanes);
  if (threadIdx.x % kWarp == 0) atomicAdd(total, own);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) stream_init(DevicePointer<double> to, uint64_t count, uint32_t seed) {
#pragma unroll 1
  for (uint64_t i = first_index(); i < count / 2; i += index_stride()) {
    pairs_of(to)[i] = DoublePair{stream_value(2 * i, seed), stream_value(2 * i + 1, seed)};
  }
  if (has_odd_element(count)) to[count - 1] = stream_value(count - 1, seed);
}

extern "C" __global__ void __launch_bounds__(256)
    stream_copy(DevicePointer<const double> from, DevicePointer<double> to, uint64_t count) {
  map_one(from, to, count, [](double x) { return x; });
}

extern "C" __global__ void __launch_bounds__(256)
    stream_scale(DevicePointer<const double> from, DevicePointer<double> to, uint64_t count, double factor) {
  map_one(from, to, count, [=](double x) { return factor * x; });
}

extern "C" __global__ void __launch_bounds__(256)
    stream_add(DevicePointer<const double> a, DevicePointer<const double> b, DevicePointer<double> to, uint64_t count) {
  map_two(a, b, to, count, [](double x, double y) { return x + y; });
}

extern "C" __global__ void __launch_bounds__(256)
    stream_triad(DevicePointer<const double> a, DevicePointer<const double> b, DevicePointer<double> to, uint64_t count,
                 double factor) {
  map_two(a, b, to, count, [=](double x, double y) { return x + factor * y; });
}

extern "C" __global__ void __launch_bounds__(256)
    stream_read_sum(DevicePointer<const uint64_t> words, uint64_t count, DevicePointer<uint64_t> total) {
  uint64_t own = 0;
  for_each_pair(
      count / 2, [&](uint64_t i) { return reinterpret_cast<const WordPair*>(words)[i]; },
      [&](uint64_t, WordPair pair) { own += pair.word[0] + pair.word[1]; });
  if (has_odd_element(count)) own += words[count - 1];
  add_to_total(own, total);
}

extern "C" __global__ void __launch_bounds__(256)
    stream_check(DevicePointer<const double> values, uint64_t count, StreamExpectation expected,
                 DevicePointer<uint64_t> wrong) {
  uint64_t own = 0;
  for (uint64_t i = first_index(); i < count; i += index_stride()) {
    const double value =
        expected.factor_a * stream_value(i, expected.seed_a) + expected.factor_b * stream_value(i, expected.seed_b);
    own += values[i] != value;
  }
  add_to_total(own, wrong);
}

RB_CHECK_KERNEL(stream_init, StreamInit);
RB_CHECK_KERNEL(stream_copy, StreamCopy);
RB_CHECK_KERNEL(stream_scale, StreamScale);
RB_CHECK_KERNEL(stream_add, StreamAdd);
RB_CHECK_KERNEL(stream_triad, StreamTriad);
RB_CHECK_KERNEL(stream_read_sum, StreamReadSum);
RB_CHECK_KERNEL(stream_check, StreamCheck);

}  // namespace reprobench
