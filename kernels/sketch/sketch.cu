// Sketches of a list of tensors in one launch for each element type. A block of 64 threads works on one segment at a
// time, a thread on one column: neighbouring threads read neighbouring elements, sixteen rows in flight. The sums
// follow the order of sketch_kernels.hpp, so they have the CPU's bits.
#include "kernels/device/device_code.hpp"
#include "kernels/sketch/sketch_kernels.hpp"

namespace reprobench {
namespace {

constexpr uint32_t kRowsInFlight = 16;
// Leaves 64 registers a thread, which is enough; left to itself the compiler spills for more blocks on some devices.
constexpr uint32_t kBlocksAMultiprocessor = 16;
constexpr uint32_t kWarps = kSketchColumns / kWarp;

struct Bf16Bits {
  uint16_t bits;
};

__device__ inline double to_double(float value) { return static_cast<double>(value); }
__device__ inline double to_double(double value) { return value; }
__device__ inline double to_double(int64_t value) { return static_cast<double>(value); }
__device__ inline double to_double(Bf16Bits value) {
  return static_cast<double>(bits_to_float(static_cast<uint32_t>(value.bits) << 16));
}

struct Column {
  double sum;
  double squares;
  double min;
  double max;
  double signed_sum;
  uint32_t nan_count;
  uint32_t inf_count;
};

// Of equal numbers, as -0 and +0 are, the first stays: the order decides, and it is fixed.
__device__ inline double first_smaller(double first, double second) { return second < first ? second : first; }
__device__ inline double first_larger(double first, double second) { return second > first ? second : first; }

__device__ inline void add(Column& column, double x, bool plus) {
  const double size = x < 0 ? -x : x;
  const bool finite = size < bits_to_double(0x7ff0'0000'0000'0000ull);  // false for NaN
  column.nan_count += x != x;
  column.inf_count += !finite && x == x;
  // Adding +0 or -0 to a sum that began with +0 changes no bit.
  const double kept = finite ? x : 0.0;
  column.sum += kept;
  column.squares += kept * kept;
  column.signed_sum += plus ? kept : -kept;
  column.min = finite && x < column.min ? x : column.min;
  column.max = finite && x > column.max ? x : column.max;
}

// The rows of a segment that begins at row `first_row` of its tensor and has `count` elements.
template <class T>
__device__ Column column_of(const T* segment, uint32_t count, uint64_t first_row) {
  const double infinity = bits_to_double(0x7ff0'0000'0000'0000ull);
  Column column = {0, 0, infinity, -infinity, 0, 0, 0};
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t first_column = threadIdx.x - lane;  // of this warp
  const T* own = segment + threadIdx.x;
  const uint32_t rows = (count + kSketchColumns - 1) / kSketchColumns;
#pragma unroll 1
  for (uint32_t batch = 0; batch < rows; batch += kRowsInFlight) {
    // Each lane works out the signs of one row of the batch, for the columns of its warp; a row's come from its lane.
    const uint32_t signs =
        static_cast<uint32_t>(sketch_signs(first_row + batch + lane % kRowsInFlight) >> first_column);
    if ((batch + kRowsInFlight) * kSketchColumns <= count) {
      T loaded[kRowsInFlight];
#pragma unroll
      for (uint32_t r = 0; r < kRowsInFlight; ++r) loaded[r] = own[(batch + r) * kSketchColumns];
#pragma unroll
      for (uint32_t r = 0; r < kRowsInFlight; ++r) {
        const bool plus = (__shfl_sync(kAllLanes, signs, static_cast<int>(r)) >> lane & 1) != 0;
        add(column, to_double(loaded[r]), plus);
      }
    } else {
#pragma unroll 1
      for (uint32_t r = 0; r < kRowsInFlight; ++r) {
        const bool plus = (__shfl_sync(kAllLanes, signs, static_cast<int>(r)) >> lane & 1) != 0;
        const uint32_t at = (batch + r) * kSketchColumns;
        if (at + threadIdx.x < count) add(column, to_double(own[at]), plus);
      }
    }
  }
  return column;
}

// Adds up the columns of a warp pairwise, neighbours first; all lanes get the result, but for the signed sums.
__device__ void fold_warp(Column& column) {
#pragma unroll
  for (int lanes = 1; lanes < static_cast<int>(kWarp); lanes *= 2) {
    const bool is_second = (threadIdx.x & static_cast<uint32_t>(lanes)) != 0;
    const double min = __shfl_xor_sync(kAllLanes, column.min, lanes);
    const double max = __shfl_xor_sync(kAllLanes, column.max, lanes);
    column.sum += __shfl_xor_sync(kAllLanes, column.sum, lanes);
    column.squares += __shfl_xor_sync(kAllLanes, column.squares, lanes);
    column.min = is_second ? first_smaller(min, column.min) : first_smaller(column.min, min);
    column.max = is_second ? first_larger(max, column.max) : first_larger(column.max, max);
    column.nan_count += __shfl_xor_sync(kAllLanes, column.nan_count, lanes);
    column.inf_count += __shfl_xor_sync(kAllLanes, column.inf_count, lanes);
  }
}

template <class T>
__device__ void sketch_run(const TensorSpan* spans, uint32_t span_count, uint64_t segment_count, SketchPart* parts,
                           Column (*shared)[kWarps]) {
  uint64_t segment = segment_count * blockIdx.x / gridDim.x;
  const uint64_t end = segment_count * (blockIdx.x + 1) / gridDim.x;
  if (segment == end) return;
  uint32_t at = span_of_piece(spans, span_count, segment);
  // Two rows of shared memory in turn: a barrier lies between two uses of the same row.
  for (uint32_t row = 0; segment < end; ++segment, row ^= 1) {
    while (at + 1 < span_count && spans[at + 1].first_piece <= segment) ++at;
    const uint64_t index = segment - spans[at].first_piece;
    const uint64_t rest = spans[at].length - index * kSketchSegment;
    const uint32_t count = rest < kSketchSegment ? static_cast<uint32_t>(rest) : kSketchSegment;
    Column column = column_of(reinterpret_cast<const T*>(spans[at].data) + index * kSketchSegment, count,
                              index * kSketchSegmentRows);
    SketchPart& part = parts[segment];
    part.signed_sums[threadIdx.x] = column.signed_sum;
    fold_warp(column);
    if (threadIdx.x % kWarp == 0) shared[row][threadIdx.x / kWarp] = column;
    __syncthreads();
    if (threadIdx.x == 0) {
      const Column second = shared[row][1];
      part.sum = column.sum + second.sum;
      part.squares = column.squares + second.squares;
      part.min = first_smaller(column.min, second.min);
      part.max = first_larger(column.max, second.max);
      part.nan_count = column.nan_count + second.nan_count;
      part.inf_count = column.inf_count + second.inf_count;
    }
  }
}

// Folds one field over the segments of a tensor, in order, with loads ahead of the additions.
template <class T, class Fold>
__device__ T folded(const T* field, uint64_t parts, T value, Fold fold) {
  constexpr uint32_t kAhead = 8;
  constexpr uint64_t kStride = sizeof(SketchPart) / sizeof(T);
  uint64_t part = 0;
#pragma unroll 1
  for (; part + kAhead <= parts; part += kAhead) {
    T loaded[kAhead];
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) loaded[k] = field[(part + k) * kStride];
#pragma unroll
    for (uint32_t k = 0; k < kAhead; ++k) value = fold(value, loaded[k]);
  }
#pragma unroll 1
  for (; part < parts; ++part) value = fold(value, field[part * kStride]);
  return value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kSketchColumns, kBlocksAMultiprocessor)
    sketch_fp32(DevicePointer<const TensorSpan> spans, uint32_t span_count, uint64_t segment_count,
                DevicePointer<SketchPart> parts) {
  __shared__ Column shared[2][kWarps];
  sketch_run<float>(spans, span_count, segment_count, parts, shared);
}

extern "C" __global__ void __launch_bounds__(kSketchColumns, kBlocksAMultiprocessor)
    sketch_fp64(DevicePointer<const TensorSpan> spans, uint32_t span_count, uint64_t segment_count,
                DevicePointer<SketchPart> parts) {
  __shared__ Column shared[2][kWarps];
  sketch_run<double>(spans, span_count, segment_count, parts, shared);
}

extern "C" __global__ void __launch_bounds__(kSketchColumns, kBlocksAMultiprocessor)
    sketch_bf16(DevicePointer<const TensorSpan> spans, uint32_t span_count, uint64_t segment_count,
                DevicePointer<SketchPart> parts) {
  __shared__ Column shared[2][kWarps];
  sketch_run<Bf16Bits>(spans, span_count, segment_count, parts, shared);
}

extern "C" __global__ void __launch_bounds__(kSketchColumns, kBlocksAMultiprocessor)
    sketch_int64(DevicePointer<const TensorSpan> spans, uint32_t span_count, uint64_t segment_count,
                 DevicePointer<SketchPart> parts) {
  __shared__ Column shared[2][kWarps];
  sketch_run<int64_t>(spans, span_count, segment_count, parts, shared);
}

extern "C" __global__ void __launch_bounds__(SketchFold::kThreads)
    sketch_fold(DevicePointer<const TensorSpan> spans, uint32_t span_count, uint64_t segment_count,
                DevicePointer<const SketchPart> parts, DevicePointer<SketchPart> results) {
  const auto plus = [](auto a, auto b) { return a + b; };
  const double infinity = bits_to_double(0x7ff0'0000'0000'0000ull);
  for (uint32_t tensor = blockIdx.x; tensor < span_count; tensor += gridDim.x) {
    const uint64_t first = spans[tensor].first_piece;
    const uint64_t end = tensor + 1 < span_count ? spans[tensor + 1].first_piece : segment_count;
    const SketchPart* own = parts + first;
    const uint64_t count = end - first;
    SketchPart& result = results[tensor];
    const uint32_t t = threadIdx.x;
    if (t < kSketchColumns) result.signed_sums[t] = folded(&own->signed_sums[t], count, 0.0, plus);
    if (t == kSketchColumns) result.sum = folded(&own->sum, count, 0.0, plus);
    if (t == kSketchColumns + 1) result.squares = folded(&own->squares, count, 0.0, plus);
    if (t == kSketchColumns + 2) result.min = folded(&own->min, count, infinity, first_smaller);
    if (t == kSketchColumns + 3) result.max = folded(&own->max, count, -infinity, first_larger);
    if (t == kSketchColumns + 4) result.nan_count = folded(&own->nan_count, count, uint64_t{0}, plus);
    if (t == kSketchColumns + 5) result.inf_count = folded(&own->inf_count, count, uint64_t{0}, plus);
  }
}

RB_CHECK_KERNEL(sketch_fp32, SketchFp32);
RB_CHECK_KERNEL(sketch_fp64, SketchFp64);
RB_CHECK_KERNEL(sketch_bf16, SketchBf16);
RB_CHECK_KERNEL(sketch_int64, SketchInt64);
RB_CHECK_KERNEL(sketch_fold, SketchFold);

}  // namespace reprobench
