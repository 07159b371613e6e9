#include <ATen/core/Tensor.h>

#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr const char* kProblem = "this worker was built without CUDA; install the stack with --with-gpu";

}  // namespace

bool built_with_cuda() { return false; }

std::unique_ptr<ComputeDevice> open_cuda(const std::string& name, const DeviceOptions&) {
  throw RunFailure("unsupported", "cannot train on `" + name + "`: " + kProblem);
}

std::unique_ptr<PeerLink> open_peer_link(const std::string&) { throw RunFailure("unsupported", kProblem); }

std::vector<DeviceFacts> visible_devices(std::string& problem) {
  problem = kProblem;
  return {};
}

std::string cuda_failure_cause(const std::string&) { return ""; }

std::int64_t gpu_random_grid_threads() { throw RunFailure("unsupported", kProblem); }

at::Tensor first_random_draw(std::uint64_t, std::int64_t) { throw RunFailure("unsupported", kProblem); }

at::Tensor unified_tensor(std::int64_t) { throw RunFailure("unsupported", kProblem); }

CublasLtProduct cublaslt_product(const at::Tensor&, const at::Tensor&, bool) { return {nullptr, kProblem}; }

at::Tensor doubled_by_collective(const at::Tensor&) { throw RunFailure("unsupported", kProblem); }

std::unique_ptr<ProcessGroup> join_nccl(const Meeting&) { throw RunFailure("unsupported", kProblem); }

}  // namespace reprobench
