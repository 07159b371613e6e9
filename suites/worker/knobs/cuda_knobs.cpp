// Knobs of the GPU: libraries, memory, launching. What needs an environment variable was set by the coordinator before
// the process began (contract/knob_table.cpp); the settings of at::Context live in libtorch_cpu, so this file is part
// of every worker. What only a worker built with CUDA can do is asked of the device (device.hpp).
#include <cstdlib>

#include <ATen/Context.h>

#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/knobs/knob_row.hpp"

namespace reprobench {
namespace {

std::string apply_cublas_workspace(const std::string&, const Settings&) {
  const char* set = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  const std::string sizes = set == nullptr ? "" : set;
  if (sizes == ":4096:8") return "4096_8";
  return sizes == ":16:8" ? "16_8" : "released";
}

// The device applies it when it is opened; here is what it comes to.
std::string apply_cuda_allocator(const std::string& value, const Settings&) { return value; }
std::string apply_cuda_graph(const std::string& value, const Settings&) { return value; }

template <class Context>
constexpr bool has_blas_choice = requires(Context& context) {
  context.blasPreferredBackend();
};

template <class Context>
void choose_blas(Context& context, bool cublaslt) {
  if constexpr (has_blas_choice<Context>) {
    using Backend = decltype(context.blasPreferredBackend());
    context.setBlasPreferredBackend(cublaslt ? Backend::Cublaslt : Backend::Cublas);
  }
}

std::string apply_cuda_blas(const std::string& value, const Settings&) {
  if (value != "released") choose_blas(at::globalContext(), value == "cublaslt");
  return value;
}

std::string apply_module_loading(const std::string& value, const Settings&) {
  const char* set = std::getenv("CUDA_MODULE_LOADING");
  return set == nullptr ? "released" : value;
}

std::string apply_cudnn_heuristic(const std::string&, const Settings&) {
  return std::getenv("TORCH_CUDNN_USE_HEURISTIC_MODE_B") == nullptr ? "released" : "mode_b";
}

template <class Context>
constexpr bool has_fp16_accumulation = requires(Context& context) {
  context.setAllowFP16AccumulationCuBLAS(true);
};

template <class Context>
void set_fp16_accumulation(Context& context, bool on) {
  if constexpr (has_fp16_accumulation<Context>) context.setAllowFP16AccumulationCuBLAS(on);
}

std::string apply_fp16_accumulation(const std::string& value, const Settings&) {
  set_fp16_accumulation(at::globalContext(), value == "on");
  return value;
}

KnobSupport support_cuda_blas(const Knob& knob) {
  if (!has_blas_choice<at::Context>) return support_default_only(knob, "this LibTorch has no such setting");
  return support_gpu_only(knob);
}

KnobSupport support_fp16_accumulation(const Knob& knob) {
  if (!has_fp16_accumulation<at::Context>) return support_default_only(knob, "this LibTorch has no such setting");
  return support_gpu_only(knob);
}

constexpr KnobRow kCudaRows[] = {
    {&knob_for<&Settings::cublas_workspace>, &apply_cublas_workspace, &support_gpu_only},
    {&knob_for<&Settings::cuda_allocator>, &apply_cuda_allocator, &support_gpu_only},
    {&knob_for<&Settings::cuda_blas>, &apply_cuda_blas, &support_cuda_blas},
    {&knob_for<&Settings::cuda_graph>, &apply_cuda_graph, &support_gpu_only},
    {&knob_for<&Settings::cuda_module_loading>, &apply_module_loading, &support_gpu_only},
    {&knob_for<&Settings::cudnn_heuristic>, &apply_cudnn_heuristic, &support_gpu_only},
    {&knob_for<&Settings::fp16_accumulation>, &apply_fp16_accumulation, &support_fp16_accumulation},
};

}  // namespace

std::span<const KnobRow> cuda_knob_rows() { return kCudaRows; }

KnobSupport support_gpu_only(const Knob& knob) {
  if (built_with_cuda()) return support_everything(knob);
  return support_default_only(knob, "acts on a GPU, and this worker was built without CUDA");
}

}  // namespace reprobench
