#include "suites/worker/cuda/unified_memory.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kGranularityBytes = 512;  // as LibTorch's own allocator rounds

class UnifiedBlocks {
 public:
  void* take(std::size_t wanted_bytes) {
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

  void give_back(void* block) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(block);
    if (found == sizes_.end()) return;
    memory_.allocated_bytes -= static_cast<std::int64_t>(found->second);
    free_[found->second].push_back(block);
    sizes_.erase(found);
  }

  DeviceMemory memory() {
    const std::lock_guard lock(mutex_);
    return memory_;
  }

  void reset_peaks() {
    const std::lock_guard lock(mutex_);
    memory_.peak_allocated_bytes = memory_.allocated_bytes;
    memory_.peak_reserved_bytes = memory_.reserved_bytes;
  }

 private:
  void* reuse(std::size_t bytes) {
    const auto found = free_.find(bytes);
    if (found == free_.end() || found->second.empty()) return nullptr;
    void* block = found->second.back();
    found->second.pop_back();
    return block;
  }

  void* make(std::size_t bytes) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
    if (bytes > free_bytes) {
      throw RunFailure("cuda_oom", "unified memory is bounded by what the card has free: " + std::to_string(bytes) +
                                       " bytes asked for, " + std::to_string(free_bytes) + " free");
    }
    void* block = nullptr;
    check_cuda(cudaMallocManaged(&block, bytes, cudaMemAttachGlobal), "allocating unified memory");
    memory_.reserved_bytes += static_cast<std::int64_t>(bytes);
    memory_.peak_reserved_bytes = std::max(memory_.peak_reserved_bytes, memory_.reserved_bytes);
    return block;
  }

  std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> free_;
  std::map<void*, std::size_t> sizes_;
  DeviceMemory memory_{0, 0, 0, 0};
};

// Never destroyed: LibTorch frees tensors of static storage duration after main().
UnifiedBlocks& blocks() {
  static auto* const kBlocks = new UnifiedBlocks;
  return *kBlocks;
}

}  // namespace

void use_unified_memory() {
  const auto allocator = torch::cuda::CUDAPluggableAllocator::createCustomAllocator(
      [](std::size_t bytes, int, cudaStream_t) { return blocks().take(bytes); },
      [](void* block, std::size_t, int, cudaStream_t) { blocks().give_back(block); });
  torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(allocator);
}

at::Tensor unified_tensor(std::int64_t count) {
  void* block = blocks().take(static_cast<std::size_t>(count) * sizeof(float));
  return at::from_blob(
      block, {count}, [](void* memory) { blocks().give_back(memory); },
      at::TensorOptions(at::Device(at::kCUDA, 0)).dtype(at::kFloat));
}

DeviceMemory unified_memory() { return blocks().memory(); }
void reset_unified_peaks() { blocks().reset_peaks(); }

}  // namespace reprobench
