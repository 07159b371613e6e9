// The smallest collective there is: whether the stack's NCCL loads, starts and has kernels for this GPU, which says
// nothing about cuBLAS or cuDNN and is therefore asked apart from them.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAStream.h>

#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/run_failure.hpp"

#ifdef REPROBENCH_HAS_NCCL

#include <nccl.h>

#include "suites/worker/cuda/cuda_failure.hpp"

namespace reprobench {
namespace {

class OneRank {
 public:
  OneRank() {
    const int device = 0;  // the coordinator shows a process the one GPU it may use
    check(ncclCommInitAll(&communicator_, 1, &device), "starting a communicator of one rank");
  }
  ~OneRank() {
    // After an error the communicator is not asked to finish first.
    if (healthy_) {
      ncclCommDestroy(communicator_);
    } else if (communicator_ != nullptr) {
      ncclCommAbort(communicator_);
    }
  }
  OneRank(const OneRank&) = delete;
  OneRank& operator=(const OneRank&) = delete;

  void sum_doubled(const at::Tensor& values, at::Tensor& result) {
    float two = 2;
    ncclRedOp_t doubling = ncclSum;
    check(ncclRedOpCreatePreMulSum(&doubling, &two, ncclFloat, ncclScalarHostImmediate, communicator_),
          "making an operation");
    check(ncclAllReduce(values.data_ptr(), result.data_ptr(), static_cast<std::size_t>(values.numel()), ncclFloat,
                        doubling, communicator_, c10::cuda::getCurrentCUDAStream().stream()),
          "an all-reduce");
    check(ncclRedOpDestroy(doubling, communicator_), "giving an operation back");
  }

 private:
  void check(ncclResult_t result, const char* what) {
    if (result == ncclSuccess) return;
    healthy_ = false;
    int version = 0;
    ncclGetVersion(&version);
    throw RunFailure("collective_error", std::string(what) + ": " + ncclGetErrorString(result) + "; " +
                                             ncclGetLastError(communicator_) + " (NCCL " + std::to_string(version) +
                                             ")");
  }

  ncclComm_t communicator_ = nullptr;
  bool healthy_ = true;
};

}  // namespace

at::Tensor doubled_by_collective(const at::Tensor& values) {
  at::Tensor result = at::empty_like(values);
  OneRank rank;
  rank.sum_doubled(values, result);
  check_cuda(cudaDeviceSynchronize(), "waiting for a collective");
  return result;
}

}  // namespace reprobench

#else

namespace reprobench {

at::Tensor doubled_by_collective(const at::Tensor&) {
  throw RunFailure("unsupported", "the stack had no header of NCCL when this worker was built");
}

}  // namespace reprobench

#endif
