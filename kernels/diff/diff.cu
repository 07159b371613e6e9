// Two tensors compared element by element. A thread block takes a run of 64 KiB blocks; counts stay in registers over
// the whole run, sums are stored for each block, so that neither depends on the launch shape.
#include "kernels/device/device_code.hpp"
#include "kernels/diff/diff_kernels.hpp"
#include "kernels/diff/float_format.hpp"

namespace reprobench {
namespace {

constexpr uint32_t kThreads = DiffKernel::kThreads;
constexpr uint32_t kWarps = kThreads / kWarp;

__device__ inline uint32_t bucket_of(uint64_t ulp) { return 64 - static_cast<uint32_t>(leading_zeros(ulp)); }

__device__ inline void keep_larger(DiffCounts& counts, uint64_t element, uint64_t ulp) {
  if (element == kNoElement) return;
  const bool more = counts.largest == kNoElement || ulp > counts.largest_ulp;
  if (more || (ulp == counts.largest_ulp && element < counts.largest)) {
    counts.largest = element;
    counts.largest_ulp = ulp;
  }
}

// Counts a pair whose bits differ.
template <class Format>
__device__ void count_different(typename Format::Word a, typename Format::Word b, uint64_t element, DiffCounts& counts,
                                uint32_t* histogram) {
  ++counts.differing;
  counts.first = element < counts.first ? element : counts.first;
  const bool nan_a = Format::is_nan(a);
  const bool nan_b = Format::is_nan(b);
  if (nan_a || nan_b) {
    ++(nan_a && nan_b ? counts.nan_payloads : counts.nan_mismatches);
    return;
  }
  const uint64_t ulp = Format::ulp_distance(a, b);
  const bool finite = Format::is_finite(a) && Format::is_finite(b);
  counts.inf_mismatches += !finite;
  counts.zero_signs += ulp == 0;
  if (!finite) return;
  atomicAdd(&histogram[bucket_of(ulp)], 1u);
  keep_larger(counts, element, ulp);
}

template <class Format>
__device__ inline void add_pair(typename Format::Word a, typename Format::Word b, uint64_t element, DiffSums& sums,
                                DiffCounts& counts, uint32_t& equal, uint32_t* histogram) {
  const bool finite = Format::is_finite(a) && Format::is_finite(b);
  const double x = finite ? Format::finite_value(a) : 0.0;
  const double y = finite ? Format::finite_value(b) : 0.0;
  const double difference = x - y;
  const double size = difference < 0 ? -difference : difference;
  sums.difference_squares += difference * difference;
  sums.reference_squares += y * y;
  sums.max_abs = size > sums.max_abs ? size : sums.max_abs;
  if (a != b) {
    count_different<Format>(a, b, element, counts, histogram);
  } else {
    equal += finite;
  }
}

// Sixteen bytes of elements from `values` on, of which `count` are left; the missing ones are zero.
template <class Word>
__device__ WordPair load_pair(const Word* values, uint64_t count, bool wide) {
  constexpr uint32_t kElements = sizeof(WordPair) / sizeof(Word);
  if (wide && count >= kElements) return *reinterpret_cast<const WordPair*>(values);
  WordPair pair = {{0, 0}};
  for (uint32_t i = 0; i < kElements && i < count; ++i) {
    const uint64_t bits = static_cast<uint64_t>(values[i]) << 8 * (i * sizeof(Word) % 8);
    pair.word[0] |= i < kElements / 2 ? bits : 0;
    pair.word[1] |= i < kElements / 2 ? 0 : bits;
  }
  return pair;
}

// This thread's elements of the block that begins at element `first` of `count` in all. The loop over elements is not
// unrolled: for the narrow types that would be sixteen copies of it.
template <class Format>
__device__ void add_block(const typename Format::Word* a, const typename Format::Word* b, uint64_t first,
                          uint64_t count, bool wide, DiffSums& sums, DiffCounts& counts, uint32_t& equal,
                          uint32_t* histogram) {
  using Word = typename Format::Word;
  constexpr uint32_t kElements = sizeof(WordPair) / sizeof(Word);
  constexpr uint32_t kPairs = kDiffKernelBlockBytes / sizeof(WordPair);
#pragma unroll 1
  for (uint32_t p = threadIdx.x; p < kPairs; p += kThreads) {
    const uint64_t at = first + p * kElements;
    if (at >= count) return;
    WordPair of_a = load_pair(a + at, count - at, wide);
    WordPair of_b = load_pair(b + at, count - at, wide);
#pragma unroll 1
    for (uint32_t i = 0; i < kElements && at + i < count; ++i) {
      if (i == kElements / 2) {
        of_a.word[0] = of_a.word[1];
        of_b.word[0] = of_b.word[1];
      }
      add_pair<Format>(static_cast<Word>(of_a.word[0]), static_cast<Word>(of_b.word[0]), at + i, sums, counts, equal,
                       histogram);
      if constexpr (sizeof(Word) < 8) {
        of_a.word[0] >>= 8 * sizeof(Word);
        of_b.word[0] >>= 8 * sizeof(Word);
      }
    }
  }
}

__device__ inline void combine(DiffSums& sums, const DiffSums& other) {
  sums.difference_squares += other.difference_squares;
  sums.reference_squares += other.reference_squares;
  sums.max_abs = other.max_abs > sums.max_abs ? other.max_abs : sums.max_abs;
}

__device__ inline void combine(DiffCounts& counts, const DiffCounts& other) {
  counts.differing += other.differing;
  counts.nan_mismatches += other.nan_mismatches;
  counts.nan_payloads += other.nan_payloads;
  counts.inf_mismatches += other.inf_mismatches;
  counts.zero_signs += other.zero_signs;
  counts.first = other.first < counts.first ? other.first : counts.first;
  keep_larger(counts, other.largest, other.largest_ulp);
}

// Combines the values of all threads pairwise, neighbours first, into that of thread 0. `shared` must not be in use.
template <class T>
__device__ void combine_threads(T& value, T* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
#pragma unroll 1
  for (uint32_t step = 1; step < kThreads; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) combine(shared[threadIdx.x], shared[threadIdx.x + step]);
    __syncthreads();
  }
  value = shared[0];
  __syncthreads();
}

struct DiffShared {
  uint32_t histogram[kDiffHistogram];
  DiffSums sums[kThreads];
  DiffCounts counts[kThreads];
};

template <class Format>
__device__ void diff_run(const unsigned char* bytes_a, const unsigned char* bytes_b, uint64_t count,
                         DiffSums* block_sums, DiffCounts* all_counts, uint64_t* histogram, DiffShared& shared) {
  using Word = typename Format::Word;
  constexpr uint64_t kBlockElements = kDiffKernelBlockBytes / sizeof(Word);
  const Word* a = reinterpret_cast<const Word*>(bytes_a);
  const Word* b = reinterpret_cast<const Word*>(bytes_b);
  const bool wide = is_aligned(a, 16) && is_aligned(b, 16);
  const uint64_t blocks = (count + kBlockElements - 1) / kBlockElements;
  const uint64_t end = blocks * (blockIdx.x + 1) / gridDim.x;
  for (uint32_t i = threadIdx.x; i < kDiffHistogram; i += kThreads) shared.histogram[i] = 0;
  __syncthreads();
  DiffCounts counts = {0, 0, 0, 0, 0, kNoElement, kNoElement, 0};
  uint32_t equal = 0;
  for (uint64_t block = blocks * blockIdx.x / gridDim.x; block < end; ++block) {
    DiffSums sums = {0, 0, 0};
    add_block<Format>(a, b, block * kBlockElements, count, wide, sums, counts, equal, shared.histogram);
    combine_threads(sums, shared.sums);
    if (threadIdx.x == 0) block_sums[block] = sums;
  }
  if (equal != 0) atomicAdd(&shared.histogram[0], equal);
  combine_threads(counts, shared.counts);
  if (threadIdx.x == 0) all_counts[blockIdx.x] = counts;
  for (uint32_t i = threadIdx.x; i < kDiffHistogram; i += kThreads) {
    if (shared.histogram[i] != 0) atomicAdd(&histogram[i], static_cast<uint64_t>(shared.histogram[i]));
  }
}

}  // namespace

#define RB_DIFF_KERNEL(name, Format)                                                                            \
  extern "C" __global__ void __launch_bounds__(kThreads)                                                        \
      name(DevicePointer<const unsigned char> a, DevicePointer<const unsigned char> b, uint64_t count,          \
           DevicePointer<DiffSums> sums, DevicePointer<DiffCounts> counts, DevicePointer<uint64_t> histogram) { \
    __shared__ DiffShared shared;                                                                               \
    diff_run<Format>(a, b, count, sums, counts, histogram, shared);                                             \
  }

RB_DIFF_KERNEL(diff_fp64, Fp64)
RB_DIFF_KERNEL(diff_fp32, Fp32)
RB_DIFF_KERNEL(diff_bf16, Bf16)
RB_DIFF_KERNEL(diff_fp16, Fp16)
RB_DIFF_KERNEL(diff_fp8_e4m3fn, Fp8E4m3fn)
RB_DIFF_KERNEL(diff_fp8_e5m2, Fp8E5m2)
// Elements without an arithmetic: bytes are compared, and an element counts once however many of its bytes differ.
extern "C" __global__ void __launch_bounds__(kThreads)
    diff_raw(DevicePointer<const unsigned char> a, DevicePointer<const unsigned char> b, uint64_t count,
             uint32_t element_bytes, DevicePointer<DiffCounts> all_counts) {
  __shared__ DiffCounts shared[kThreads];
  DiffCounts counts = {0, 0, 0, 0, 0, kNoElement, kNoElement, 0};
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * kThreads;
#pragma unroll 1
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += stride) {
    uint32_t differing_bits = 0;
#pragma unroll 1
    for (uint32_t k = 0; k < element_bytes; ++k) {
      differing_bits |= static_cast<uint32_t>(a[i * element_bytes + k] ^ b[i * element_bytes + k]);
    }
    if (differing_bits == 0) continue;
    ++counts.differing;
    counts.first = i < counts.first ? i : counts.first;
  }
  combine_threads(counts, shared);
  if (threadIdx.x == 0) all_counts[blockIdx.x] = counts;
}

RB_CHECK_KERNEL(diff_fp64, DiffFp64);
RB_CHECK_KERNEL(diff_fp32, DiffFp32);
RB_CHECK_KERNEL(diff_bf16, DiffBf16);
RB_CHECK_KERNEL(diff_fp16, DiffFp16);
RB_CHECK_KERNEL(diff_fp8_e4m3fn, DiffFp8E4m3fn);
RB_CHECK_KERNEL(diff_fp8_e5m2, DiffFp8E5m2);
RB_CHECK_KERNEL(diff_raw, DiffRaw);

}  // namespace reprobench
