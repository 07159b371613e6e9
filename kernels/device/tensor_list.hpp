// Lists of tensors that one launch works through. Each tensor is cut into pieces of equal size, the pieces of all
// tensors are numbered consecutively, and a thread block takes a run of consecutive ones.
#pragma once

#include "kernels/device/device_pointer.hpp"

namespace reprobench {

// The spans of a launch are in order: `first_piece` is the number of pieces in the spans before it. Any alignment and
// length is allowed; an empty tensor has no piece.
struct TensorSpan {
  DevicePointer<const unsigned char> data;
  uint64_t length;  // in bytes or elements, as the kernel says
  uint64_t first_piece;
};

// The last span that begins at or before `piece`: the one that holds it, since empty spans begin where the next does.
RB_HOST_DEVICE inline uint32_t span_of_piece(const TensorSpan* spans, uint32_t span_count, uint64_t piece) {
  uint32_t low = 0;
  uint32_t high = span_count;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (spans[middle].first_piece <= piece) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace reprobench
