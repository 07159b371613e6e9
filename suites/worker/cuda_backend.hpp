// The part of a worker that needs CUDA (cuda/). A worker built without CUDA has refusals in its place (without_cuda/).
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

// A function and no macro: whatever does not call CUDA is then the same compilation with and without it.
bool built_with_cuda();

// Opens the first GPU this process sees, which must be of class `name`. Throws RunFailure.
std::unique_ptr<ComputeDevice> open_cuda(const std::string& name, const DeviceOptions& options);

// Opens the first two GPUs this process sees, each of class `name`, for copies between them. Throws RunFailure,
// "no_device" where it sees fewer.
std::unique_ptr<PeerLink> open_peer_link(const std::string& name);

// The cause, in the words of a result, behind the text of an exception that LibTorch threw because CUDA failed; empty
// if CUDA has nothing to do with it.
std::string cuda_failure_cause(const std::string& text);

// Threads over which LibTorch spreads random numbers on this GPU (probes/framework_random.hpp).
std::int64_t gpu_random_grid_threads();

// The first `count` uniform fp32 numbers that LibTorch draws on the GPU once its generator has been seeded with `seed`.
// Throws RunFailure.
at::Tensor first_random_draw(std::uint64_t seed, std::int64_t count);

// A tensor of `count` fp32 numbers, uninitialized, in managed memory that GPU and host share. Throws RunFailure.
at::Tensor unified_tensor(std::int64_t count);

// A product that goes to cuBLASLt directly, so that its choice of algorithm and its speed can be compared with
// LibTorch's.
struct CublasLtProduct {
  std::function<at::Tensor()> multiply;  // into the same tensor each time; null where it cannot be done
  std::string algorithm;                 // the choice of its heuristic, in cuBLASLt's own numbers; or why there is none
};

// Multiplies `a` (rows, depth) by `b` (depth, columns), both contiguous, on the GPU and of one type: fp64, fp32, bf16
// or fp16. Sums are in fp32, for fp64 operands in fp64. `tf32` allows fp32 operands to be rounded. Throws RunFailure.
CublasLtProduct cublaslt_product(const at::Tensor& a, const at::Tensor& b, bool tf32);

// Returns `values` (fp32, on the GPU) times two, computed by an all-reduce of NCCL with a single rank. Multiplying
// makes NCCL run a kernel of its own where a plain sum of one rank would be a copy. Throws RunFailure
// "collective_error" with NCCL's words, "unsupported" where this worker has no NCCL.
at::Tensor doubled_by_collective(const at::Tensor& values);

// Joins the group of ranks over the stack's NCCL, each rank with the one GPU that its process sees. Throws RunFailure:
// "unsupported" where this worker has no NCCL, and the causes of open_cuda without a GPU. Errors of the library are
// std::runtime_error or CollectiveError.
std::unique_ptr<ProcessGroup> join_nccl(const Meeting& meeting);

}  // namespace reprobench
