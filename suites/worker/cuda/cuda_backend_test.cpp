// What a worker built with CUDA can show without a GPU: every failure gets the cause that says whose it is, the stack's
// own libraries say which devices they have kernels for, and the settings of a GPU are taken.
#include "suites/worker/cuda_backend.hpp"

#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include "ci/catch.hpp"
#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/cuda/cuda_probe.hpp"
#include "suites/worker/cuda/unified_memory.hpp"
#include "suites/worker/knobs.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

std::string as_libtorch_says(cudaError_t error) {
  return std::string("CUDA error: ") + cudaGetErrorString(error) +
         "\nCUDA kernel errors might be asynchronously reported at some other API call";
}

TEST_CASE("the text LibTorch makes of a CUDA error leads back to its cause", "[cuda]") {
  CHECK(cuda_failure_cause(as_libtorch_says(cudaErrorIllegalAddress)) == "illegal_address");
  CHECK(cuda_failure_cause(as_libtorch_says(cudaErrorNoKernelImageForDevice)) == "no_kernel_image");
  CHECK(cuda_failure_cause(as_libtorch_says(cudaErrorInsufficientDriver)) == "driver_too_old");
  CHECK(cuda_failure_cause(as_libtorch_says(cudaErrorECCUncorrectable)) == "device_lost");
  CHECK(cuda_failure_cause(as_libtorch_says(cudaErrorAssert)) == "device_assert");
  CHECK(cuda_failure_cause("CUDA out of memory. Tried to allocate 20.00 MiB.") == "cuda_oom");
  CHECK(cuda_failure_cause("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`") == "cuda_error");
  CHECK(cuda_failure_cause("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR") == "cuda_error");
}

TEST_CASE("what has nothing to do with CUDA is left to others", "[cuda]") {
  CHECK(cuda_failure_cause("DefaultCPUAllocator: out of memory").empty());
  CHECK(cuda_failure_cause("mat1 and mat2 shapes cannot be multiplied (4x3 and 5x6)").empty());
  CHECK(cuda_failure_cause("").empty());
}

TEST_CASE("a failed call names itself and the runtime's reason", "[cuda]") {
  check_cuda(cudaSuccess, "nothing");
  try {
    check_cuda(cudaErrorMemoryAllocation, "asking for memory");
    FAIL("no throw");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == "cuda_oom");
    CHECK(std::string(failure.what()) == "asking for memory: out of memory");
  }
}

// LibTorch does not say it without a GPU, so ci/cuda_worker_test.sh runs this where one is.
TEST_CASE("the stack's own libraries have kernels for Ampere, Hopper and Blackwell, and none for Kepler", "[.gpu]") {
  const std::string built_for = cuda_build_text();
  CHECK(coverage_of(built_for, "8.0") == Coverage::native);
  CHECK(coverage_of(built_for, "9.0") == Coverage::native);
  CHECK(coverage_of(built_for, "12.0") == Coverage::native);
  CHECK(coverage_of(built_for, "3.5") == Coverage::none);
}

TEST_CASE("every value of every GPU knob is taken by a worker built with CUDA, or refused with a reason", "[cuda]") {
  for (const KnobSupport& support : knob_support()) {
    if (find_knob(support.name)->acts_on != ActsOn::gpu) continue;
    INFO(support.name);
    CHECK((support.values.size() == find_knob(support.name)->values.size() || !support.reason.empty()));
    for (const std::string& value : support.values) CHECK_NOTHROW(apply_knobs(with_defaults({{support.name, value}})));
  }
  for (const char* backend : {"math", "flash", "mem_efficient", "cudnn"}) {
    CHECK_NOTHROW(apply_knobs(with_defaults({{"attention", backend}})));
  }
  apply_knobs(with_defaults({}));
}

TEST_CASE("without a usable GPU opening one fails with a word for the reason", "[cuda]") {
  std::string problem;
  if (!visible_devices(problem).empty()) return;
  const std::string word = problem.substr(0, problem.find(':'));
  try {
    open_cuda("sm_90", {});
    FAIL("no throw");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == word);
  }
  CHECK((word == "no_driver" || word == "no_device" || word == "driver_too_old"));
}

TEST_CASE("unified memory counts nothing before it is used", "[cuda]") {
  reset_unified_peaks();
  CHECK(unified_memory().allocated_bytes == 0);
  CHECK(unified_memory().peak_reserved_bytes == 0);
}

}  // namespace
}  // namespace reprobench
