// The blocks behind unified memory. They are kept by size and used again, because making shared memory takes as long as
// a small step. Together they never take more than the card had free.
//
// Managed pages take memory of the card only once they are touched, so the free memory says nothing about blocks that
// were given out a moment ago. Therefore the sum of all blocks held is bounded, by the memory that was free before the
// first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "suites/worker/device.hpp"

namespace reprobench {

// The source of blocks. Each function throws RunFailure.
struct ManagedMemory {
  std::function<std::size_t()> free_bytes;  // of the card, at this moment
  std::function<void*(std::size_t bytes)> allocate;
  std::function<void(void* block)> release;
};

// Any thread may call it: backward passes run on a thread of LibTorch's own.
class UnifiedBlocks {
 public:
  explicit UnifiedBlocks(ManagedMemory source) : source_(std::move(source)) {}

  // Returns a block of at least this many bytes. Unused blocks are released before it throws RunFailure "cuda_oom".
  void* take(std::size_t wanted_bytes);
  void give_back(void* block);

  DeviceMemory memory() const;
  void reset_peaks();

 private:
  void* reuse(std::size_t bytes);
  void* make(std::size_t bytes);
  bool fits(std::size_t bytes);
  void release_unused();

  ManagedMemory source_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> unused_;
  std::map<void*, std::size_t> sizes_;  // of the blocks in use
  std::optional<std::size_t> limit_bytes_;
  DeviceMemory memory_{0, 0, 0, 0};
};

}  // namespace reprobench
