// The kernels that compare two tensors, as the device code and its callers both see them.
#pragma once

#include "kernels/device/device_pointer.hpp"

namespace reprobench {

constexpr uint32_t kDiffKernelBlockBytes = 64 * 1024;
constexpr uint32_t kDiffHistogram = 65;  // buckets, as kUlpBuckets
constexpr uint64_t kNoElement = ~uint64_t{0};

// Of one 64 KiB block, over elements that are finite on both sides. The order of the sums: thread t of 256 adds the
// elements of 16-byte vectors t, t + 256, … one by one; threads are added pairwise, neighbours first.
struct DiffSums {
  double difference_squares;
  double reference_squares;
  double max_abs;
};

// Of the blocks that one thread block worked on; counts add up in any order.
struct DiffCounts {
  uint64_t differing;
  uint64_t nan_mismatches;
  uint64_t nan_payloads;
  uint64_t inf_mismatches;
  uint64_t zero_signs;
  uint64_t first;    // element, kNoElement if none differs
  uint64_t largest;  // element with the most ULP, the first of equals; kNoElement if there is none
  uint64_t largest_ulp;
};

// The two tensors at addresses that are multiples of the element's size, elements, the sums of each block, the counts
// of each thread block, and the histogram of all, to which is added.
struct DiffKernel {
  static constexpr char kModule[] = "diff";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<const unsigned char>, DevicePointer<const unsigned char>, uint64_t,
                         DevicePointer<DiffSums>, DevicePointer<DiffCounts>, DevicePointer<uint64_t>);
};

struct DiffFp64 : DiffKernel {
  static constexpr char kName[] = "diff_fp64";
};
struct DiffFp32 : DiffKernel {
  static constexpr char kName[] = "diff_fp32";
};
struct DiffBf16 : DiffKernel {
  static constexpr char kName[] = "diff_bf16";
};
struct DiffFp16 : DiffKernel {
  static constexpr char kName[] = "diff_fp16";
};
struct DiffFp8E4m3fn : DiffKernel {
  static constexpr char kName[] = "diff_fp8_e4m3fn";
};
struct DiffFp8E5m2 : DiffKernel {
  static constexpr char kName[] = "diff_fp8_e5m2";
};

// Integers, booleans and the like: bits alone. The tensors, elements, bytes of one, the counts of each thread block.
struct DiffRaw {
  static constexpr char kModule[] = "diff";
  static constexpr char kName[] = "diff_raw";
  static constexpr uint32_t kThreads = 256;
  using Signature = void(DevicePointer<const unsigned char>, DevicePointer<const unsigned char>, uint64_t, uint32_t,
                         DevicePointer<DiffCounts>);
};

}  // namespace reprobench
