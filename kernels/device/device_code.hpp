// The base of every `.cu` file: the check of a kernel against its description, wide loads, sums over a warp and the
// clocks. Only device code includes it, which NVRTC compiles, or for tests the emulation of device/simt.
#pragma once

#include "kernels/device/device_pointer.hpp"
#include "kernels/portable.hpp"

namespace reprobench {

template <class A, class B>
constexpr bool kSameType = false;
template <class A>
constexpr bool kSameType<A, A> = true;

constexpr bool same_text(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

// Checks that the function `kernel` has the name and signature in `Description` (device/launch.hpp).
// kernels/KernelTable.cmake reads these lines too.
#define RB_CHECK_KERNEL(kernel, Description)                                                              \
  static_assert(kSameType<decltype(kernel), Description::Signature>, "the kernel has another signature"); \
  static_assert(same_text(Description::kName, #kernel), "the kernel has another name")

constexpr uint32_t kWarp = 32;
constexpr uint32_t kAllLanes = 0xffff'ffffu;

// Sixteen bytes, the widest access of one thread.
struct alignas(16) WordPair {
  uint64_t word[2];
};

__device__ inline bool is_aligned(const void* pointer, uint64_t bytes) {
  return (reinterpret_cast<uint64_t>(pointer) & (bytes - 1)) == 0;
}

// Nanoseconds of a clock that all multiprocessors share; on most devices it moves in steps of about a microsecond.
__device__ inline uint64_t global_timer_ns() {
#ifdef __CUDACC_RTC__
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return simt::global_timer_ns();
#endif
}

// Cycles of this multiprocessor's clock.
__device__ inline uint64_t cycle_counter() {
#ifdef __CUDACC_RTC__
  uint64_t now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
#else
  return simt::cycle_counter();
#endif
}

}  // namespace reprobench
