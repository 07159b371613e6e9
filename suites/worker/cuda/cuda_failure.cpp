#include "suites/worker/cuda/cuda_failure.hpp"

#include <cuda_runtime_api.h>

#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

struct CauseRow {
  cudaError_t error;
  const char* cause;
};

// NVIDIA CUDA Runtime API, "Data types used by CUDA Runtime": what each error says of the process and the device.
constexpr CauseRow kCauses[] = {
    {cudaErrorMemoryAllocation, "cuda_oom"},
    {cudaErrorNoDevice, "no_device"},
    {cudaErrorInvalidDevice, "no_device"},
    {cudaErrorInsufficientDriver, "driver_too_old"},
    {cudaErrorSystemDriverMismatch, "driver_too_old"},
    {cudaErrorCompatNotSupportedOnDevice, "driver_too_old"},
    {cudaErrorUnsupportedPtxVersion, "driver_too_old"},
    {cudaErrorNoKernelImageForDevice, "no_kernel_image"},
    {cudaErrorSymbolNotFound, "no_kernel_image"},
    {cudaErrorDevicesUnavailable, "device_lost"},
    {cudaErrorECCUncorrectable, "device_lost"},
    {cudaErrorNvlinkUncorrectable, "device_lost"},
    {cudaErrorSystemNotReady, "device_lost"},
    // Sticky: nothing works in this process any more. One process does one attempt, so it ends with it.
    {cudaErrorIllegalAddress, "illegal_address"},
    {cudaErrorMisalignedAddress, "illegal_address"},
    {cudaErrorInvalidAddressSpace, "illegal_address"},
    {cudaErrorInvalidPc, "illegal_address"},
    {cudaErrorHardwareStackError, "illegal_address"},
    {cudaErrorIllegalInstruction, "illegal_address"},
    {cudaErrorLaunchFailure, "launch_failed"},
    {cudaErrorLaunchTimeout, "launch_failed"},
    {cudaErrorAssert, "device_assert"},
};

}  // namespace

std::string cuda_cause(int error) {
  for (const CauseRow& row : kCauses) {
    if (row.error == error) return row.cause;
  }
  return "cuda_error";
}

void check_cuda(int error, const char* what) {
  if (error == cudaSuccess) return;
  const auto code = static_cast<cudaError_t>(error);
  throw RunFailure(cuda_cause(error), std::string(what) + ": " + cudaGetErrorString(code));
}

// LibTorch writes "CUDA error: " and the runtime's text for the error, and "CUDA out of memory" where its allocator
// gave up; the error itself it does not keep.
std::string cuda_failure_cause(const std::string& text) {
  if (text.find("CUDA out of memory") != std::string::npos) return "cuda_oom";
  const auto error = text.find("CUDA error: ");
  for (const CauseRow& row : kCauses) {
    if (error != std::string::npos && text.find(cudaGetErrorString(row.error), error) != std::string::npos) {
      return row.cause;
    }
  }
  for (const char* library : {"CUDA error", "CUBLAS_STATUS", "CUDNN_STATUS", "cuDNN error", "NCCL error"}) {
    if (text.find(library) != std::string::npos) return "cuda_error";
  }
  return "";
}

}  // namespace reprobench
