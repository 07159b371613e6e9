// Two tensors compared element by element. A thread block takes a run of 64 KiB blocks; counts stay in registers over
// the whole run, sums are stored for each block, so that neither depends on the launch shape.
#include "kernels/device/device_code.hpp"
#include "kernels/diff/diff_kernels.hpp"
#include "kernels/diff/float_format.hpp"

namespace reprobench {
namespace {

constexpr uint32_t kThreads = DiffKernel::kThreads;
constexpr uint32_t kWarps = kThreads / kWarp;

template <class WordType>
struct RawFormat {
  using Word = WordType;
};

template <class Format>
constexpr bool kFloating = true;
template <class Word>
constexpr bool kFloating<RawFormat<Word>> = false;

template <class Word>
struct alignas(16) Vector {
  static constexpr uint32_t kElements = 16 / sizeof(Word);
  Word element[kElements];
};

__device__ inline uint32_t bucket_of(uint64_t ulp) { return 64 - static_cast<uint32_t>(leading_zeros(ulp)); }

__device__ inline void keep_larger(DiffCounts& counts, uint64_t element, uint64_t ulp) {
  if (element == kNoElement) return;
  const bool more = counts.largest == kNoElement || ulp > counts.largest_ulp;
  if (more || (ulp == counts.largest_ulp && element < counts.largest)) {
    counts.largest = element;
    counts.largest_ulp = ulp;
  }
}

template <class Format>
__device__ void add_float_pair(typename Format::Word a, typename Format::Word b, uint64_t element, DiffSums& sums,
                               DiffCounts& counts, uint32_t& equal, uint32_t* histogram) {
  const bool finite = Format::is_finite(a) && Format::is_finite(b);
  if (finite) {
    const double y = Format::finite_value(b);
    const double difference = Format::finite_value(a) - y;
    const double size = difference < 0 ? -difference : difference;
    sums.difference_squares += difference * difference;
    sums.reference_squares += y * y;
    sums.max_abs = size > sums.max_abs ? size : sums.max_abs;
  }
  if (a == b) {
    equal += finite;
    return;
  }
  ++counts.differing;
  counts.first = element < counts.first ? element : counts.first;
  const bool nan_a = Format::is_nan(a);
  const bool nan_b = Format::is_nan(b);
  if (nan_a || nan_b) {
    ++(nan_a && nan_b ? counts.nan_payloads : counts.nan_mismatches);
    return;
  }
  const uint64_t ulp = Format::ulp_distance(a, b);
  counts.inf_mismatches += !finite;
  counts.zero_signs += ulp == 0;
  if (!finite) return;
  atomicAdd(&histogram[bucket_of(ulp)], 1u);
  keep_larger(counts, element, ulp);
}

template <class Format>
__device__ inline void add_pair(typename Format::Word a, typename Format::Word b, uint64_t element, DiffSums& sums,
                                DiffCounts& counts, uint32_t& equal, uint32_t* histogram) {
  if constexpr (kFloating<Format>) {
    add_float_pair<Format>(a, b, element, sums, counts, equal, histogram);
  } else if (a != b) {
    ++counts.differing;
    counts.first = element < counts.first ? element : counts.first;
  }
}

// This thread's elements of the block that begins at element `first` of `count` in all.
template <class Format>
__device__ void add_block(const typename Format::Word* a, const typename Format::Word* b, uint64_t first,
                          uint64_t count, bool wide, DiffSums& sums, DiffCounts& counts, uint32_t& equal,
                          uint32_t* histogram) {
  using Word = typename Format::Word;
  constexpr uint32_t kElements = Vector<Word>::kElements;
  constexpr uint32_t kVectors = kDiffKernelBlockBytes / 16;
#pragma unroll 1
  for (uint32_t v = threadIdx.x; v < kVectors; v += kThreads) {
    const uint64_t at = first + v * kElements;
    if (at >= count) return;
    Vector<Word> of_a = {};
    Vector<Word> of_b = {};
    if (wide && at + kElements <= count) {
      of_a = *reinterpret_cast<const Vector<Word>*>(a + at);
      of_b = *reinterpret_cast<const Vector<Word>*>(b + at);
    } else {
      for (uint32_t i = 0; i < kElements && at + i < count; ++i) {
        of_a.element[i] = a[at + i];
        of_b.element[i] = b[at + i];
      }
    }
#pragma unroll
    for (uint32_t i = 0; i < kElements; ++i) {
      if (at + i < count) {
        add_pair<Format>(of_a.element[i], of_b.element[i], at + i, sums, counts, equal, histogram);
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
    if constexpr (kFloating<Format>) {
      combine_threads(sums, shared.sums);
      if (threadIdx.x == 0) block_sums[block] = sums;
    }
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
RB_DIFF_KERNEL(diff_raw8, RawFormat<uint8_t>)
RB_DIFF_KERNEL(diff_raw16, RawFormat<uint16_t>)
RB_DIFF_KERNEL(diff_raw32, RawFormat<uint32_t>)
RB_DIFF_KERNEL(diff_raw64, RawFormat<uint64_t>)

RB_CHECK_KERNEL(diff_fp64, DiffFp64);
RB_CHECK_KERNEL(diff_fp32, DiffFp32);
RB_CHECK_KERNEL(diff_bf16, DiffBf16);
RB_CHECK_KERNEL(diff_fp16, DiffFp16);
RB_CHECK_KERNEL(diff_fp8_e4m3fn, DiffFp8E4m3fn);
RB_CHECK_KERNEL(diff_fp8_e5m2, DiffFp8E5m2);
RB_CHECK_KERNEL(diff_raw8, DiffRaw8);
RB_CHECK_KERNEL(diff_raw16, DiffRaw16);
RB_CHECK_KERNEL(diff_raw32, DiffRaw32);
RB_CHECK_KERNEL(diff_raw64, DiffRaw64);

}  // namespace reprobench
