// Device code run on the CPU, for tests: the same `.cu` text, compiled as C++ with this header before it.
//
// Each thread of a block is a fiber; __syncthreads and the warp operations switch between them, so barriers, shuffles
// and shared memory work as on a device. A barrier that part of a block never reaches is reported instead of hanging.
// Blocks run one after the other, and threads in an order that the test chooses: results that depend on either order
// differ. It does not model memory ordering between threads without a barrier, nor time.
#pragma once

#include <cstdint>
#include <functional>

namespace reprobench::simt {

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

// The indices and extents of the running thread.
extern Index3 thread_index;
extern Index3 block_index;
extern Index3 block_extent;
extern Index3 grid_extent;

enum class Order { forward, backward, shuffled };  // of blocks, and of the threads that could run next

// Runs `kernel` once for each thread of the one-dimensional grid. Throws std::logic_error if threads of a block wait
// for ever.
void run(unsigned blocks, unsigned threads, Order order, const std::function<void()>& kernel);

void synchronize_block();
void synchronize_warp();

// Every lane of the warp gives a value and gets that of lane `source`.
std::uint64_t exchange(std::uint64_t value, unsigned source);
// One bit for each lane that has not returned.
unsigned ballot(bool predicate);

std::uint64_t global_timer_ns();
std::uint64_t cycle_counter();  // 1.5 GHz

template <class T>
T exchange_as(T value, unsigned source) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = exchange(bits, source);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace reprobench::simt

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// Shared memory has a section of its own, which `run` overwrites before each block: device code cannot rely on its
// initial contents.
#define __shared__ static __attribute__((section("simt_shared")))
#define threadIdx ::reprobench::simt::thread_index
#define blockIdx ::reprobench::simt::block_index
#define blockDim ::reprobench::simt::block_extent
#define gridDim ::reprobench::simt::grid_extent

inline void __syncthreads() { ::reprobench::simt::synchronize_block(); }
inline void __syncwarp(unsigned = ~0u) { ::reprobench::simt::synchronize_warp(); }
inline void __threadfence() {}

template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return ::reprobench::simt::exchange_as(value, static_cast<unsigned>(lane) % 32);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int lanes) {
  return ::reprobench::simt::exchange_as(value, threadIdx.x % 32 ^ static_cast<unsigned>(lanes));
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned lanes) {
  const unsigned lane = threadIdx.x % 32;
  return ::reprobench::simt::exchange_as(value, lane + lanes < 32 ? lane + lanes : lane);
}
inline unsigned __ballot_sync(unsigned, int predicate) { return ::reprobench::simt::ballot(predicate != 0); }

template <class T>
T atomicAdd(T* target, T value) {
  const T before = *target;
  *target = before + value;
  return before;
}
template <class T>
T atomicMin(T* target, T value) {
  const T before = *target;
  if (value < before) *target = value;
  return before;
}
template <class T>
T atomicMax(T* target, T value) {
  const T before = *target;
  if (value > before) *target = value;
  return before;
}
