#include "suites/worker/cuda/unified_memory.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/cuda/unified_blocks.hpp"
#include "suites/worker/cuda_backend.hpp"

namespace reprobench {
namespace {

ManagedMemory managed_memory() {
  return {[] {
            std::size_t free_bytes = 0;
            std::size_t total_bytes = 0;
            check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
            return free_bytes;
          },
          [](std::size_t bytes) {
            void* block = nullptr;
            check_cuda(cudaMallocManaged(&block, bytes, cudaMemAttachGlobal), "allocating unified memory");
            return block;
          },
          [](void* block) {
            check_cuda(cudaDeviceSynchronize(), "waiting for what still reads unified memory");
            check_cuda(cudaFree(block), "releasing unified memory");
          }};
}

// Never destroyed: LibTorch frees tensors of static storage duration after main().
UnifiedBlocks& blocks() {
  static auto* const kBlocks = new UnifiedBlocks(managed_memory());
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
