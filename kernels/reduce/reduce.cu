// Chunk sums in the order of reduce.hpp. A thread block takes every gridDim-th chunk; a thread owns four neighbouring
// lanes, so that its loads are 16 bytes wide.
#include "kernels/device/device_code.hpp"
#include "kernels/reduce/reduce_kernels.hpp"

namespace reprobench {
namespace {

constexpr uint32_t kThreads = ReduceSumFp32::kThreads;
constexpr uint32_t kOwnLanes = kReduceLanes / kThreads;
constexpr uint32_t kRows = kReduceChunk / kReduceLanes;
constexpr uint32_t kRowsInFlight = 8;

struct alignas(16) Wide {
  float element[kOwnLanes];
};

struct OwnLanes {
  float lane[kOwnLanes];
};

__device__ inline float canonical(float sum) { return sum == sum ? sum : bits_to_float(0x7fc0'0000u); }

// A whole chunk whose address is a multiple of 16.
__device__ inline void add_wide_rows(const float* chunk, OwnLanes& own) {
  const Wide* loads = reinterpret_cast<const Wide*>(chunk) + threadIdx.x;
#pragma unroll
  for (uint32_t row = 0; row < kRows; row += kRowsInFlight) {
    Wide loaded[kRowsInFlight];
#pragma unroll
    for (uint32_t r = 0; r < kRowsInFlight; ++r) loaded[r] = loads[(row + r) * kThreads];
#pragma unroll
    for (uint32_t r = 0; r < kRowsInFlight; ++r) {
#pragma unroll
      for (uint32_t j = 0; j < kOwnLanes; ++j) own.lane[j] += loaded[r].element[j];
    }
  }
}

// A short chunk, or one at another address.
__device__ inline void add_rows(const float* chunk, uint32_t count, OwnLanes& own) {
  for (uint32_t row = kOwnLanes * threadIdx.x; row < count; row += kReduceLanes) {
#pragma unroll
    for (uint32_t j = 0; j < kOwnLanes; ++j) {
      if (row + j < count) own.lane[j] += chunk[row + j];
    }
  }
}

// Adds neighbours pairwise: the four lanes of a thread, the threads of a warp, the warps.
__device__ inline float sum_of_lanes(const OwnLanes& own, float* shared) {
  float sum = (own.lane[0] + own.lane[1]) + (own.lane[2] + own.lane[3]);
#pragma unroll
  for (int lanes = 1; lanes < static_cast<int>(kWarp); lanes *= 2) sum += __shfl_xor_sync(kAllLanes, sum, lanes);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return sum;
  float warps[kThreads / kWarp];
#pragma unroll
  for (uint32_t w = 0; w < kThreads / kWarp; ++w) warps[w] = shared[w];
#pragma unroll
  for (uint32_t width = kThreads / kWarp / 2; width > 0; width /= 2) {
#pragma unroll
    for (uint32_t w = 0; w < width; ++w) warps[w] = warps[2 * w] + warps[2 * w + 1];
  }
  return warps[0];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_sum_fp32(DevicePointer<const float> values, uint64_t count, DevicePointer<float> sums) {
  __shared__ float shared[2][kThreads / kWarp];
  const bool wide = is_aligned(values, 16);
  uint32_t row = 0;  // of shared memory, two in turn: a barrier lies between two uses of the same one
  const uint64_t chunks = count == 0 ? 1 : (count + kReduceChunk - 1) / kReduceChunk;  // nothing sums to +0
  for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x, row ^= 1) {
    const uint64_t rest = count - chunk * kReduceChunk;
    OwnLanes own = {};
    if (wide && rest >= kReduceChunk) {
      add_wide_rows(values + chunk * kReduceChunk, own);
    } else {
      add_rows(values + chunk * kReduceChunk, rest < kReduceChunk ? static_cast<uint32_t>(rest) : kReduceChunk, own);
    }
    const float sum = sum_of_lanes(own, shared[row]);
    if (threadIdx.x == 0) sums[chunk] = canonical(sum);
  }
}

RB_CHECK_KERNEL(reduce_sum_fp32, ReduceSumFp32);

}  // namespace reprobench
