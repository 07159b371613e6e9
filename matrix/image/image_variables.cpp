#include "matrix/image/image_variables.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace reprobench {
namespace {

// A name that ends in `*` is the beginning of all that count.
struct ChangingVariable {
  std::string_view name, changes;
};
constexpr std::array<ChangingVariable, 28> kChanging = {{
    {"ATEN_CPU_CAPABILITY", "the vector instructions of LibTorch's own loops"},
    {"CUBLASLT_*", "how cuBLASLt multiplies"},
    {"CUBLAS_WORKSPACE_CONFIG", "how cuBLAS multiplies, and whether it repeats itself"},
    {"CUDA_LAUNCH_BLOCKING", "how fast kernels start"},
    {"DISABLE_ADDMM_CUDA_LT", "which library multiplies"},
    {"DNNL_*", "how oneDNN computes; its FPMATH_MODE rounds operands to fewer bits"},
    {"FBGEMM_ENABLE_INSTRUCTIONS", "the vector instructions of FBGEMM"},
    {"GLIBC_TUNABLES", "how memory is given out, and which instructions mathematical functions use"},
    {"GOMP_*", "how threads share work"},
    {"KMP_*", "how threads share work"},
    {"MALLOC_*", "how memory is given out"},
    {"MKL_*", "how MKL computes, and on how many threads"},
    {"NCCL_ALGO", "in which order NCCL adds"},
    {"NCCL_MAX_NCHANNELS", "in which order NCCL adds, and how fast"},
    {"NCCL_MIN_NCHANNELS", "in which order NCCL adds, and how fast"},
    {"NCCL_NTHREADS", "how fast NCCL is"},
    {"NCCL_P2P_*", "how NCCL's ranks reach each other"},
    {"NCCL_PROTO", "in which order NCCL adds, and how fast"},
    {"NVIDIA_TF32_OVERRIDE", "whether GPUs multiply fp32 with 10 bits of fraction"},
    {"OMP_*", "on how many threads a CPU adds, and so in which order"},
    {"ONEDNN_*", "how oneDNN computes; its FPMATH_MODE rounds operands to fewer bits"},
    {"OPENBLAS_*", "how OpenBLAS computes, and on how many threads"},
    {"PYTORCH_ALLOC_CONF", "how memory of a GPU is given out"},
    {"PYTORCH_CUDA_ALLOC_CONF", "how memory of a GPU is given out"},
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", "how memory of a GPU is given out"},
    {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "whether GPUs multiply fp32 with 10 bits of fraction"},
    {"TORCH_BLAS_PREFER_CUBLASLT", "which library multiplies"},
    {"TORCH_CUDNN_*", "how cuDNN is chosen"},
}};

bool is_named(std::string_view known, std::string_view name) {
  if (known.ends_with('*')) return name.starts_with(known.substr(0, known.size() - 1));
  return name == known;
}

}  // namespace

std::vector<ImageFinding> find_changing_variables(const Image& image) {
  std::vector<ImageFinding> findings;
  for (const auto& [name, value] : image.config.environment) {
    const auto known = std::ranges::find_if(
        kChanging, [&](const ChangingVariable& variable) { return is_named(variable.name, name); });
    // The images of CUDA name their own release by such a variable, which no library reads.
    if (known == kChanging.end() || value.empty() || name.ends_with("_VERSION")) continue;
    findings.push_back(
        {FindingSeverity::warn, "changing-variable", "",
         fmt::format("ENV {}={} changes {}; a run of `qualify` does not have it", name, value, known->changes)});
  }
  return findings;
}

}  // namespace reprobench
