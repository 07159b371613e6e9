#include "suites/worker/cuda/unified_blocks.hpp"

#include <algorithm>

#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kGranularityBytes = 512;  // as LibTorch's own allocator rounds

}  // namespace

void* UnifiedBlocks::take(std::size_t wanted_bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t bytes =
      (std::max<std::size_t>(wanted_bytes, 1) + kGranularityBytes - 1) / kGranularityBytes * kGranularityBytes;
  void* block = reuse(bytes);
  if (block == nullptr) block = make(bytes);
  sizes_[block] = bytes;
  memory_.allocated_bytes += static_cast<std::int64_t>(bytes);
  memory_.peak_allocated_bytes = std::max(memory_.peak_allocated_bytes, memory_.allocated_bytes);
  return block;
}

void UnifiedBlocks::give_back(void* block) {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(block);
  if (found == sizes_.end()) return;
  memory_.allocated_bytes -= static_cast<std::int64_t>(found->second);
  unused_[found->second].push_back(block);
  sizes_.erase(found);
}

DeviceMemory UnifiedBlocks::memory() const {
  const std::lock_guard lock(mutex_);
  return memory_;
}

void UnifiedBlocks::reset_peaks() {
  const std::lock_guard lock(mutex_);
  memory_.peak_allocated_bytes = memory_.allocated_bytes;
  memory_.peak_reserved_bytes = memory_.reserved_bytes;
}

void* UnifiedBlocks::reuse(std::size_t bytes) {
  const auto found = unused_.find(bytes);
  if (found == unused_.end() || found->second.empty()) return nullptr;
  void* block = found->second.back();
  found->second.pop_back();
  return block;
}

// Within what was free at first, and within what is free now: others may have taken memory since.
bool UnifiedBlocks::fits(std::size_t bytes) {
  const std::size_t free_bytes = source_.free_bytes();
  if (!limit_bytes_) limit_bytes_ = free_bytes;
  return static_cast<std::size_t>(memory_.reserved_bytes) + bytes <= *limit_bytes_ && bytes <= free_bytes;
}

void* UnifiedBlocks::make(std::size_t bytes) {
  if (!fits(bytes)) release_unused();
  if (!fits(bytes)) {
    throw RunFailure("cuda_oom", "unified memory is bounded by what the card had free: " + std::to_string(bytes) +
                                     " bytes asked for, " + std::to_string(memory_.reserved_bytes) + " of " +
                                     std::to_string(*limit_bytes_) + " are held, " +
                                     std::to_string(source_.free_bytes()) + " free");
  }
  void* block = source_.allocate(bytes);
  memory_.reserved_bytes += static_cast<std::int64_t>(bytes);
  memory_.peak_reserved_bytes = std::max(memory_.peak_reserved_bytes, memory_.reserved_bytes);
  return block;
}

void UnifiedBlocks::release_unused() {
  for (auto& [bytes, blocks] : unused_) {
    while (!blocks.empty()) {
      source_.release(blocks.back());
      blocks.pop_back();
      memory_.reserved_bytes -= static_cast<std::int64_t>(bytes);
    }
  }
}

}  // namespace reprobench
