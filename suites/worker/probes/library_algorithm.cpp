#include "suites/worker/probes/library_algorithm.hpp"

#include <algorithm>

namespace reprobench {
namespace {

struct NamedAlgorithm {
  std::string_view fragment;  // of a kernel's name
  std::string_view algorithm;
};

// The first row that any kernel shows decides: Winograd and FFT convolutions and unfused attention contain plain
// products, so their own kernels stand before those. From the kernels of cuDNN 8 and 9, CUTLASS, cuBLAS and LibTorch.
// The first and last rows are of a CPU: LibTorch's operators, then oneDNN's and MKL's calls, where no operator tells.
constexpr NamedAlgorithm kAlgorithms[] = {
    {"aten::_scaled_dot_product_flash_attention", "flash"},
    {"aten::mkldnn_convolution", "onednn"},
    {"onednn convolution ", "onednn"},
    {"aten::_nnpack_spatial_convolution", "nnpack"},
    {"aten::_slow_conv2d_forward", "im2col_gemm"},
    {"aten::thnn_conv2d", "im2col_gemm"},
    {"winograd", "winograd"},
    {"Winograd", "winograd"},
    {"fft1d_", "fft"},
    {"fft2d_", "fft"},
    {"_sdpa_", "flash_cudnn"},
    {"flash_fwd", "flash"},
    {"flash_attn", "flash"},
    {"fmha_cutlass", "mem_efficient"},
    {"implicit_gemm", "implicit_gemm"},
    {"implicit_convolve", "implicit_gemm"},
    {"scudnn", "implicit_gemm"},
    {"884cudnn", "implicit_gemm"},
    {"1688cudnn", "implicit_gemm"},
    {"16816cudnn", "implicit_gemm"},
    {"fprop", "implicit_gemm"},
    {"conv2d_grouped_direct", "direct"},
    {"conv_depthwise", "direct"},
    {"im2col", "im2col_gemm"},
    {"oftmax", "unfused"},
    {"splitK", "split_k_gemm"},
    {"splitk", "split_k_gemm"},
    {"split_k_kernel", "split_k_gemm"},  // beside the product's own name; "segment_k_off" is none
    {"stream_k", "stream_k_gemm"},
    {"streamk", "stream_k_gemm"},
    {"gemv", "gemv"},
    {"gemm", "gemm"},
    {"nvjet", "gemm"},
    {"cutlass", "gemm"},
    {"aten::mm", "gemm"},
    {"aten::addmm", "gemm"},
    {"aten::bmm", "gemm"},
    {"aten::_scaled_mm", "gemm"},
    {"onednn matmul ", "gemm"},
    {"onednn inner_product ", "gemm"},
    {"mkl SGEMM", "gemm"},
    {"mkl DGEMM", "gemm"},
    {"mkl GEMM", "gemm"},
    {"mkl SGEMV", "gemv"},
    {"mkl DGEMV", "gemv"},
};

}  // namespace

std::string_view library_algorithm(std::span<const std::string> kernels) {
  for (const NamedAlgorithm& row : kAlgorithms) {
    const auto shows = [&](const std::string& kernel) { return kernel.find(row.fragment) != std::string::npos; };
    if (std::ranges::any_of(kernels, shows)) return row.algorithm;
  }
  return "";
}

std::string why_not_told(std::span<const std::string> kernels, const std::string& unheard) {
  const std::string seen = kernels.empty() ? "nothing was seen of what ran" : "no name of what ran tells it";
  return unheard.empty() ? seen : seen + "; " + unheard;
}

}  // namespace reprobench
