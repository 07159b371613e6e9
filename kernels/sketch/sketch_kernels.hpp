// The sketch kernels as the device code and its callers both see them, and the order of the sums that a device and the
// CPU share.
//
// A tensor is cut into segments of 256 rows of 64 elements. In a segment each column adds its elements row by row; the
// columns' sums and squares are then added pairwise, neighbours first. Segments are added one after the other.
#pragma once

#include "kernels/device/device_pointer.hpp"
#include "kernels/device/tensor_list.hpp"
#include "kernels/digest/word_mix.hpp"

namespace reprobench {

constexpr uint32_t kSketchColumns = 64;
constexpr uint32_t kSketchSegmentRows = 256;
constexpr uint32_t kSketchSegment = kSketchSegmentRows * kSketchColumns;  // elements

// The sums of a segment, of several segments, or of a whole tensor.
struct SketchPart {
  double sum;
  double squares;
  double min;  // +infinity if no element is finite
  double max;  // -infinity likewise
  uint64_t nan_count;
  uint64_t inf_count;
  double signed_sums[kSketchColumns];
};

// One sign bit for each of the 64 elements of row `row` of the tensor; 1 is plus.
RB_HOST_DEVICE inline uint64_t sketch_signs(uint64_t row) { return mix_word(row, kDigestSalt).lane[0]; }

// The parts of all segments: spans, how many, segments of all spans, parts. A piece is a segment, a length is in
// elements, an address is a multiple of the element's size.
using SketchSegmentsSignature = void(DevicePointer<const TensorSpan>, uint32_t, uint64_t, DevicePointer<SketchPart>);

struct SketchFp32 {
  static constexpr char kModule[] = "sketch";
  static constexpr char kName[] = "sketch_fp32";
  static constexpr uint32_t kThreads = kSketchColumns;
  using Signature = SketchSegmentsSignature;
};
struct SketchFp64 {
  static constexpr char kModule[] = "sketch";
  static constexpr char kName[] = "sketch_fp64";
  static constexpr uint32_t kThreads = kSketchColumns;
  using Signature = SketchSegmentsSignature;
};
struct SketchBf16 {
  static constexpr char kModule[] = "sketch";
  static constexpr char kName[] = "sketch_bf16";
  static constexpr uint32_t kThreads = kSketchColumns;
  using Signature = SketchSegmentsSignature;
};
struct SketchInt64 {
  static constexpr char kModule[] = "sketch";
  static constexpr char kName[] = "sketch_int64";
  static constexpr uint32_t kThreads = kSketchColumns;
  using Signature = SketchSegmentsSignature;
};

// Adds up the segments of each tensor, one block a tensor: spans, how many, segments of all spans, their parts, results
struct SketchFold {
  static constexpr char kModule[] = "sketch";
  static constexpr char kName[] = "sketch_fold";
  static constexpr uint32_t kThreads = kSketchColumns + 32;
  using Signature = void(DevicePointer<const TensorSpan>, uint32_t, uint64_t, DevicePointer<const SketchPart>,
                         DevicePointer<SketchPart>);
};

}  // namespace reprobench
