// Tensors in memory that GPU and host share (knob cuda_allocator=unified).
//
// Asking for more than the card has free would move pages to and fro instead of failing, and has hung GPUs; so all of
// it together is bounded by what was free at first (unified_blocks.hpp), and an allocation beyond it is refused as out
// of memory. One stream: work that still reads a block is queued before the work that gets it next.
#pragma once

#include "suites/worker/device.hpp"

namespace reprobench {

// Before LibTorch allocates anything on a GPU. Throws RunFailure "unsupported" where this LibTorch takes no allocator.
void use_unified_memory();

// What is in use and what is held, as LibTorch's own allocator counts them.
DeviceMemory unified_memory();
void reset_unified_peaks();

}  // namespace reprobench
