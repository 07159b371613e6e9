// Tensors in memory that GPU and host share (knob cuda_allocator=unified).
//
// Asking for more than the card has free would move pages to and fro instead of failing, and has hung GPUs; so all of
// it together is bounded by the memory that was free at first (unified_blocks.hpp). An allocation beyond it is refused
// as out of memory. All work goes through one stream: work that still reads a block is queued before the work that gets
// it next.
#pragma once

#include "suites/worker/device.hpp"

namespace reprobench {

// Call it before LibTorch allocates anything on a GPU. Throws RunFailure "unsupported" where this LibTorch takes no
// allocator.
void use_unified_memory();

// The memory in use and the memory held, counted as LibTorch's own allocator does.
DeviceMemory unified_memory();
void reset_unified_peaks();

}  // namespace reprobench
