// What a worker built with CUDA adds (cuda/), and what one built without says instead (without_cuda/).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "suites/worker/device.hpp"
#include "suites/worker/peer_link.hpp"
#include "suites/worker/ranks/process_group.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

// The first GPU this process sees, which must be of class `name`. Throws RunFailure.
std::unique_ptr<ComputeDevice> open_cuda(const std::string& name, const DeviceOptions& options);

// The first two GPUs this process sees, each of class `name`, and what passes between them. Throws RunFailure,
// "no_device" where it sees fewer.
std::unique_ptr<PeerLink> open_peer_link(const std::string& name);

// The cause, in the words of a result, behind the text of an exception that LibTorch threw because CUDA failed; empty
// if CUDA has nothing to do with it.
std::string cuda_failure_cause(const std::string& text);

// Threads over which LibTorch spreads random numbers on this GPU (probes/framework_random.hpp).
std::int64_t gpu_random_grid_threads();

// `count` uniform fp32 numbers by LibTorch on the GPU, the first after its generator got this seed. Throws RunFailure.
at::Tensor first_random_draw(std::uint64_t seed, std::int64_t count);

// Of `count` fp32 numbers, undefined ones, in managed memory that GPU and host share. Throws RunFailure.
at::Tensor unified_tensor(std::int64_t count);

// A product that goes to cuBLASLt directly, so that its choice of algorithm and its speed can be held against what
// LibTorch makes of it.
struct CublasLtProduct {
  std::function<at::Tensor()> multiply;  // into the same tensor each time; null where it cannot be done
  std::string algorithm;                 // what its heuristic chose, in cuBLASLt's own numbers; or why there is none
};

// Of `a` (rows, depth) and `b` (depth, columns), contiguous, of one type, on the GPU: fp64, fp32, bf16 or fp16, added
// up in fp32 but for fp64. `tf32` lets fp32 operands be rounded. Throws RunFailure.
CublasLtProduct cublaslt_product(const at::Tensor& a, const at::Tensor& b, bool tf32);

// `values` (fp32, on the GPU) times two, by an all-reduce of NCCL with a single rank. Multiplying makes NCCL run a
// kernel of its own where a plain sum of one rank would be a copy. Throws RunFailure "collective_error" with NCCL's
// words, "unsupported" where this worker has no NCCL.
at::Tensor doubled_by_collective(const at::Tensor& values);

// Over the stack's NCCL, each rank with the one GPU that its process sees. Throws RunFailure: "unsupported" where this
// worker has no NCCL, what open_cuda throws without a GPU; else std::runtime_error and CollectiveError of the library.
std::unique_ptr<ProcessGroup> join_nccl(const Meeting& meeting);

}  // namespace reprobench
