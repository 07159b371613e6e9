// LibTorch's random numbers on the GPU, as they come from a freshly seeded generator.
#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/rand.h>
#include <cuda_runtime_api.h>

#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/probes/framework_random.hpp"

namespace reprobench {
namespace {

constexpr int kOnlyGpu = 0;  // the coordinator shows a process the one GPU it may use

int device_attribute(cudaDeviceAttr attribute) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, attribute, kOnlyGpu), "asking for the size of the device");
  return value;
}

}  // namespace

std::int64_t gpu_random_grid_threads() {
  return random_grid_threads(device_attribute(cudaDevAttrMultiProcessorCount),
                             device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor));
}

at::Tensor first_random_draw(std::uint64_t seed, std::int64_t count) {
  const at::Device gpu(at::kCUDA, kOnlyGpu);
  at::Generator generator = at::globalContext().defaultGenerator(gpu).clone();
  generator.set_current_seed(seed);
  return at::rand({count}, generator, at::TensorOptions(gpu).dtype(at::kFloat));
}

}  // namespace reprobench
