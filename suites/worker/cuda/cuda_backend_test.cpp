// What a worker built with CUDA can show without a GPU: every failure gets the cause that says whose it is, the stack's
// own libraries say which devices they have kernels for, and the settings of a GPU are taken.
#include "suites/worker/cuda_backend.hpp"

#include <cstring>

#include <ATen/core/Tensor.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include "ci/catch.hpp"
#include "models/initial_values.hpp"
#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/cuda/cuda_probe.hpp"
#include "suites/worker/cuda/unified_blocks.hpp"
#include "suites/worker/cuda/unified_memory.hpp"
#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/probes/library_algorithm.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

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

TEST_CASE("between two GPUs nothing is measured where fewer are seen, and the number is said", "[cuda]") {
  std::string problem;
  const std::size_t seen = visible_devices(problem).size();
  if (seen >= 2) return;  // the test below
  try {
    open_peer_link("sm_90");
    FAIL("no throw");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == "no_device");
    CHECK(std::string(failure.what()).find("this process sees " + std::to_string(seen)) != std::string::npos);
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

// What follows needs a GPU: ci/cuda_worker_test.sh runs it where one is.

std::unique_ptr<ComputeDevice> first_gpu() {
  std::string problem;
  return open_cuda(device_class(visible_devices(problem).at(0).compute_capability), {});
}

TEST_CASE("a tensor's digest and sketch on the GPU are those of its copy on the host", "[.gpu]") {
  const auto gpu = first_gpu();
  const auto cpu = open_cpu();
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong, at::kByte}) {
    for (const std::int64_t count : {1, 1000, 100'003}) {
      const at::Tensor here = at::randn({count}).mul(50).to(type);
      const at::Tensor there = here.to(gpu->where());
      CAPTURE(at::toString(type), count);
      CHECK(gpu->digest(there) == cpu->digest(here));
      CHECK(gpu->sketch(there).signed_sums == cpu->sketch(here).signed_sums);
      CHECK(gpu->sketch(there).l2 == cpu->sketch(here).l2);
    }
  }
  const at::Tensor transposed = at::randn({30, 50}).t();
  CHECK(gpu->digest(transposed.to(gpu->where())) == cpu->digest(transposed));
}

TEST_CASE("random numbers that the GPU draws for a probe are the host's, bit for bit", "[.gpu]") {
  const auto gpu = first_gpu();
  const TemporaryFolder folder;
  CellRequest request;
  set<&Settings::seed>(request.knobs, 7);
  CellResult result;
  TraceWriter trace(folder.path() / "trace.jsonl");
  const ProbeRun run(request, folder.path(), *gpu, trace, result);
  const auto cpu = open_cpu();
  const ProbeRun on_host(request, folder.path(), *cpu, trace, result);
  for (const std::int64_t count : {1000, 3'000'001}) {  // few on the host, many on the device
    CAPTURE(count);
    const at::Tensor drawn = run.random_normal("a", {count});
    CHECK(drawn.is_cuda());
    const at::Tensor here = drawn.to(at::kCPU);
    const std::vector<float> expected = initial_values(7, "a", static_cast<std::size_t>(count), 1);
    CHECK(std::memcmp(here.data_ptr(), expected.data(), expected.size() * sizeof(float)) == 0);
    const at::Tensor whole = run.random_whole("a", count);
    CHECK(whole.is_cuda());
    CHECK(at::equal(whole.to(at::kCPU), on_host.random_whole("a", count)));
  }
}

TEST_CASE("the kernels of a product and a convolution are seen by name, copies are not", "[.gpu]") {
  const auto gpu = first_gpu();
  const at::Tensor a = at::randn({512, 512}).to(gpu->where());
  const at::Tensor images = at::randn({8, 32, 16, 16}).to(gpu->where());
  const at::Tensor filters = at::randn({32, 32, 3, 3}).to(gpu->where());
  const auto warm = [&] { at::conv2d(images, filters, {}, 1, 1); };
  warm();
  CHECK_FALSE(library_algorithm(gpu->launched_by([&] { at::mm(a, a); }).kernels).empty());
  CHECK_FALSE(library_algorithm(gpu->launched_by(warm).kernels).empty());
  CHECK(gpu->launched_by([&] { a.clone(); }).kernels.empty());
  CHECK(gpu->launched_by([] {}).kernels.empty());
}

TEST_CASE("cuBLASLt itself gives the product of LibTorch's matrices", "[.gpu]") {
  const auto gpu = first_gpu();
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    CAPTURE(at::toString(type));
    // Whole numbers: exact in every type, in any order.
    const at::Tensor a = at::randint(-4, 5, {96, 64}).to(gpu->where(), type);
    const at::Tensor b = at::randint(-4, 5, {64, 160}).to(gpu->where(), type);
    const CublasLtProduct product = cublaslt_product(a, b, /*tf32=*/false);
    REQUIRE(product.multiply);
    CHECK(at::equal(product.multiply().to(at::kDouble),
                    at::mm(a.to(at::kDouble), b.to(at::kDouble)).to(type).to(at::kDouble)));
    CHECK(product.algorithm.find("algorithm ") == 0);
  }
}

TEST_CASE("a collective of one rank multiplies by two", "[.gpu]") {
  const auto gpu = first_gpu();
  const at::Tensor values = at::randn({100'000}).to(gpu->where());
  CHECK(at::equal(doubled_by_collective(values), values.mul(2)));
}

TEST_CASE("unified memory holds what the GPU wrote", "[.gpu][managed]") {
  const auto gpu = first_gpu();
  at::Tensor values = unified_tensor(1000);
  values.fill_(3);
  gpu->synchronize();
  CHECK(static_cast<const float*>(values.data_ptr())[999] == 3);
}

// A card whose managed pages nobody touches: however much is allocated, as much is free as before.
struct UntouchedCard {
  std::size_t free_bytes = 10 * 512;
  int allocated = 0;
  int released = 0;

  ManagedMemory memory() {
    return {[this] { return free_bytes; }, [this](std::size_t) { return reinterpret_cast<void*>(++allocated * 512); },
            [this](void*) { ++released; }};
  }
};

TEST_CASE("unified memory is bounded by all that is held, touched or not", "[cuda]") {
  UntouchedCard card;
  UnifiedBlocks blocks(card.memory());
  for (int block = 0; block < 10; ++block) CHECK_NOTHROW(blocks.take(512));
  CHECK(blocks.memory().reserved_bytes == 10 * 512);
  try {
    blocks.take(1);
    FAIL("no throw");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == "cuda_oom");
  }
}

TEST_CASE("unified memory takes no more than is free at the moment", "[cuda]") {
  UntouchedCard card;
  UnifiedBlocks blocks(card.memory());
  blocks.take(512);
  card.free_bytes = 2 * 512;  // others took the rest
  CHECK_THROWS_AS(blocks.take(3 * 512), RunFailure);
  CHECK_NOTHROW(blocks.take(2 * 512));
}

TEST_CASE("unified memory uses a block again, and lets go of unused ones before it gives up", "[cuda]") {
  UntouchedCard card;
  UnifiedBlocks blocks(card.memory());
  void* first = blocks.take(8 * 512);
  blocks.give_back(first);
  CHECK(blocks.take(8 * 512) == first);
  blocks.give_back(first);
  CHECK_NOTHROW(blocks.take(6 * 512));
  CHECK(card.released == 1);
  CHECK(blocks.memory().reserved_bytes == 6 * 512);
  CHECK(blocks.memory().peak_reserved_bytes == 8 * 512);
}

TEST_CASE("unified memory counts nothing before it is used", "[cuda]") {
  reset_unified_peaks();
  CHECK(unified_memory().allocated_bytes == 0);
  CHECK(unified_memory().peak_reserved_bytes == 0);
}

}  // namespace
}  // namespace reprobench
