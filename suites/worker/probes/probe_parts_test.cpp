// The parts of probes: bounds, references, signatures, patterns.
#include <algorithm>
#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>

#include "ci/catch.hpp"
#include "suites/worker/probes/capacity.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/exact_attention.hpp"
#include "suites/worker/probes/exact_product.hpp"
#include "suites/worker/probes/framework_random.hpp"
#include "suites/worker/probes/library_algorithm.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/probes/rounding.hpp"
#include "suites/worker/probes/stream_sizes.hpp"
#include "suites/worker/probes/unsupported_operation.hpp"
#include "suites/worker/record/innermost_operators.hpp"
#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {
namespace {

TEST_CASE("error bounds follow their formulas", "[probe]") {
  CHECK(product_error_bound_rel("fp32", 4096) == Approx(64 * 0x1p-24));
  CHECK(product_error_bound_rel("fp64", 4096) == Approx(64 * 0x1p-53));
  CHECK(product_error_bound_rel("bf16", 4096) == 6e-3);
  CHECK(product_error_bound_rel("bf16", 64) == 6e-3);
  CHECK(attention_error_bound_rel("fp32", 64, 256) == Approx((8 + 16) * 0x1p-24));
  CHECK_THROWS_AS(product_error_bound_rel("int8", 4), std::invalid_argument);
}

TEST_CASE("rates come in the unit of their operation", "[probe]") {
  CHECK(in_unit("GB/s", 3e9, 1e9) == 3);
  CHECK(in_unit("TFLOP/s", 2e12, 1e9) == 2);
  CHECK(in_unit("ns", 100, 500) == 5);
  CHECK_THROWS_AS(in_unit("bytes", 1, 1), std::invalid_argument);
}

TEST_CASE("the rounding signature tells IEEE, TF32 and bf16 operands apart", "[probe]") {
  const at::Tensor operand = rounding_probe_operand();
  CHECK(kept_significand_bits(operand) == 24);
  CHECK(kept_significand_bits(at::mm(at::eye(23), operand.view({-1, 1}))) == 24);
  CHECK(kept_significand_bits(operand.to(at::kBFloat16).to(at::kFloat)) == 8);
  // fp16 keeps 11 significand bits, as TF32 does.
  CHECK(kept_significand_bits(operand.to(at::kHalf).to(at::kFloat)) == 11);
}

TEST_CASE("a large product shows the rounding of its operands as a small one does", "[probe]") {
  const at::Tensor operand = rounding_probe_operand();
  CHECK(kept_significand_bits(rounding_product(operand, 23)) == 24);
  CHECK(kept_significand_bits(rounding_product(operand, 512)) == 24);
  CHECK(kept_significand_bits(rounding_product(operand.to(at::kBFloat16).to(at::kFloat), 64)) == 8);
}

TEST_CASE("only a missing kernel is what a device cannot do", "[probe]") {
  CHECK(is_not_implemented("\"addmm_impl_cpu_\" not implemented for 'Float8_e4m3fn'"));
  CHECK(is_not_implemented("Could not run 'aten::_scaled_mm' with arguments from the 'CPU' backend."));
  CHECK(is_not_implemented("torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9"));
  CHECK(
      is_not_implemented("could not create a primitive descriptor for the matmul primitive. Run workload with "
                         "environment variable ONEDNN_VERBOSE=all to get additional diagnostic information."));
  // Settings that LibTorch refuses, and libraries that fail.
  CHECK_FALSE(is_not_implemented("allow_splitk=False requires the cuBLASLt backend"));
  CHECK_FALSE(is_not_implemented("CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx`"));
  CHECK_FALSE(is_not_implemented("could not execute a primitive"));
  CHECK_FALSE(is_not_implemented("expandable segments are not supported on this platform"));
}

TEST_CASE("which types a GPU has is told by its compute capability", "[probe]") {
  DeviceFacts device;
  CHECK(lacks_type(device, "bf16").empty());  // a CPU
  device.compute_capability = "7.5";
  CHECK(lacks_type(device, "bf16") == "a GPU of compute capability 7.5 has no bf16; 8.0 and later have");
  CHECK_FALSE(lacks_type(device, "tf32").empty());
  CHECK(lacks_type(device, "fp16").empty());
  device.compute_capability = "8.6";
  CHECK(lacks_type(device, "bf16").empty());
  CHECK(lacks_type(device, "fp8") == "a GPU of compute capability 8.6 has no fp8; 8.9 and later have");
  device.compute_capability = "12.0";
  CHECK(lacks_type(device, "fp8").empty());
}

TEST_CASE("no array of the streams fits the L2 cache of any card, nor half of it", "[probe]") {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  for (const std::int64_t l2_bytes : {4 * kMiB, 50 * kMiB, 96 * kMiB, 126 * kMiB, 256 * kMiB}) {
    CAPTURE(l2_bytes);
    const auto sizes = gpu_stream_sizes(l2_bytes);
    REQUIRE_FALSE(sizes.empty());
    for (const std::int64_t bytes : sizes) CHECK(bytes >= 4 * l2_bytes);
  }
  CHECK(gpu_stream_sizes(50 * kMiB) == std::vector<std::int64_t>{256 * kMiB, 512 * kMiB, 1024 * kMiB});
}

TEST_CASE("arrays that a host's free memory does not hold eight times are left out, but for the smallest", "[probe]") {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  CHECK(cpu_stream_sizes(1024 * kMiB) == std::vector<std::int64_t>{kMiB, 16 * kMiB, 128 * kMiB});
  CHECK(cpu_stream_sizes(1024 * kMiB - 1) == std::vector<std::int64_t>{kMiB, 16 * kMiB});
  CHECK(cpu_stream_sizes(128 * kMiB - 1) == std::vector<std::int64_t>{kMiB});
  CHECK(cpu_stream_sizes(0) == std::vector<std::int64_t>{kMiB});
}

// The largest tensor that any operator returns.
class LargestResult final : public OperatorListener {
 public:
  void started(OperatorCall&) override {}
  void ended(OperatorCall& call) override {
    for (const c10::IValue& output : call.outputs) {
      visit_tensors(output, [&](const at::Tensor& tensor) { elements = std::max(elements, tensor.numel()); });
    }
  }
  std::int64_t elements = 0;
};

TEST_CASE("attention in fp64 is exact and never holds the weights of the whole batch", "[probe]") {
  const at::Tensor q = at::randn({8, 2, 32, 4});
  const at::Tensor k = at::randn({8, 2, 32, 4});
  const at::Tensor v = at::randn({8, 2, 32, 4});
  const at::Tensor whole = composed_attention(q.to(at::kDouble), k.to(at::kDouble), v.to(at::kDouble));
  LargestResult largest;
  at::Tensor exact;
  {
    const OperatorHook hook({&largest});
    exact = exact_attention(q, k, v);
    OperatorHook::rethrow_failure();
  }
  CHECK(close_to(exact, whole, 1e-14).right);
  CHECK(largest.elements == 2 * 32 * 32);
}

TEST_CASE("the fp64 reference product is itself held against long double", "[probe]") {
  const at::Tensor a = at::randn({40, 64});
  const at::Tensor b = at::randn({64, 50});
  at::Tensor product = exact_product(a, b);
  CHECK(worst_element_error_rel(product, a, b, 64) < 1e-15);
  product[0][0] += 1e-9;
  CHECK(worst_element_error_rel(product, a, b, 64) > 1e-12);
  product[0][0] = std::nan("");
  CHECK(std::isnan(worst_element_error_rel(product, a, b, 64)));
}

TEST_CASE("a NaN is never close to anything", "[probe]") {
  const at::Tensor exact = at::randn({4}).to(at::kDouble);
  CHECK(close_to(exact, exact, 1e-9).right);
  CHECK_FALSE(close_to(exact.mul(1 + 1e-6), exact, 1e-9).right);
  at::Tensor result = exact.clone();
  result[1] = std::nan("");
  CHECK_FALSE(close_to(result, exact, 1e9).right);
}

TEST_CASE("a convolution's algorithm is told by the kernels it launched", "[probe]") {
  const auto told = [](std::vector<std::string> kernels) { return std::string(library_algorithm(kernels)); };
  CHECK(
      told(
          {"sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize256x128x64_warpgroupsize2x1x1"}) ==
      "implicit_gemm");
  CHECK(
      told({"void cutlass_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_128x128_32x4_nhwc_align8>"}) ==
      "implicit_gemm");
  CHECK(told({"ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"}) == "winograd");
  // Its middle is a plain product, and what surrounds it gives it away.
  CHECK(told({"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>", "ampere_sgemm_128x64_nn",
              "void cudnn::winograd_nonfused::winogradForwardOutput4x4<float, float>"}) == "winograd");
  CHECK(told({"void fft2d_r2c_32x32<float, false, 1u, false>", "ampere_cgemm_32x32_tn",
              "void fft2d_c2r_32x32<float, false, false, 1u, false, false>"}) == "fft");
  CHECK(told({"void at::native::im2col_kernel<float>", "ampere_sgemm_32x128_nn"}) == "im2col_gemm");
  CHECK(told({"void cudnn::cnn::conv2d_grouped_direct_kernel<false, true>"}) == "direct");
}

TEST_CASE("attention's backend and a product's kind are told likewise, and nothing is guessed", "[probe]") {
  const auto told = [](std::vector<std::string> kernels) { return std::string(library_algorithm(kernels)); };
  CHECK(told({"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>"}) == "flash");
  CHECK(told({"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64"}) == "flash_cudnn");
  CHECK(told({"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)"}) == "mem_efficient");
  CHECK(told({"sm80_xmma_gemm_f32f32_tf32f32", "void (anonymous namespace)::softmax_warp_forward<float>",
              "ampere_sgemm_128x64_nn"}) == "unfused");
  CHECK(told({"nvjet_hsh_256x128_64x4_2x1_v_bz_coopB_NNT"}) == "gemm");
  CHECK(told({"ampere_sgemm_32x32_sliced1x4_tn", "void cublasLt::splitKreduce_kernel<32, 16, int, float>"}) ==
        "split_k_gemm");
  // As cuBLAS 13.1 and cuDNN 9.19 named them on an H200, where cuBLASLt told of the first that it was split in five.
  const std::string thin =
      "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x64x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_";
  CHECK(told({thin + "execute_kernel__5x_cublas", thin + "execute_split_k_kernel__5x_cublas"}) == "split_k_gemm");
  CHECK(told({thin + "execute_kernel__5x_cublas"}) == "gemm");
  CHECK(
      told(
          {"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1_execute_segment_k_off_kernel__"
           "5x_cublas"}) == "gemm");
  CHECK(told({"nvjet_sm90_hsh_256x16_64x6_4x1_v_bz_splitK_NNT"}) == "split_k_gemm");
  CHECK(told({"void flip_filter<float, float>(float*, float const*, int, int, int, int)",
              "void fft2d_r2c_64x64<float>(float2*, float const*)", "void pointwise_mult_and_sum_complex<float2, 8, 4>",
              "void fft2d_c2r_64x64<float, false>(float*, float2*)"}) == "fft");
  CHECK(
      told(
          {"void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, true>",
           "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x256x32_warpgroupsize1x1x1_g1"}) ==
      "implicit_gemm");
  CHECK(told({"void some_new_kernel<float>"}).empty());
  CHECK(told({}).empty());
}

TEST_CASE("the operators that do the work are those that call no other", "[probe]") {
  const at::Tensor a = at::ones({4, 4});
  const auto names = innermost_operators([&] { at::matmul(a, a.t()).softmax(-1); });
  CHECK(names == std::vector<std::string>{"aten::mm", "aten::_softmax"});
}

// The calls as LibTorch 2.9 makes them where the CPU has AMX. An operator whose work a library does beneath it, without
// another operator, is still the one that did it.
TEST_CASE("a copy or a scale read beneath an operator does not hide that operator", "[probe]") {
  const at::Tensor a = at::ones({4, 4});
  const auto within = [](const char* name, const std::function<void()>& work) {
    at::RecordFunction call(at::RecordScope::FUNCTION);
    if (call.isActive()) call.before(name);
    work();
  };
  const auto convolution = innermost_operators(
      [&] { within("aten::convolution", [&] { within("aten::mkldnn_convolution", [&] { a.clone(); }); }); });
  CHECK(convolution == std::vector<std::string>{"aten::mkldnn_convolution"});
  CHECK(library_algorithm(convolution) == "onednn");
  const at::Tensor scale = at::ones({});
  const auto product = innermost_operators([&] { within("aten::_scaled_mm", [&] { scale.item<float>(); }); });
  CHECK(product == std::vector<std::string>{"aten::_scaled_mm"});
  CHECK(library_algorithm(product) == "gemm");
  CHECK(innermost_operators([&] { a.clone(); }).empty());
  // Negative control: one that leaves its work to another is hidden.
  CHECK(innermost_operators([&] { within("aten::_scaled_mm", [&] { at::mm(a, a); }); }) ==
        std::vector<std::string>{"aten::mm"});
}

TEST_CASE("oneDNN's and MKL's own calls tell where no operator does", "[probe]") {
  const auto told = [](std::vector<std::string> kernels) { return std::string(library_algorithm(kernels)); };
  CHECK(told({"aten::some_new_operator", "onednn convolution brgconv:avx512_core_amx"}) == "onednn");
  CHECK(told({"onednn reorder jit:uni", "onednn matmul brg_matmul:avx512_core_amx"}) == "gemm");
  CHECK(told({"onednn inner_product brgemm:avx2"}) == "gemm");
  CHECK(told({"mkl GEMM_BF16BF16F32"}) == "gemm");
  CHECK(told({"aten::mv", "mkl SGEMV"}) == "gemv");
  // The operator comes first: its library's products are part of it.
  CHECK(told({"aten::mkldnn_convolution", "onednn convolution gemm:jit"}) == "onednn");
  CHECK(told({"onednn convolution gemm:jit"}) == "onednn");
  CHECK(told({"aten::_slow_conv2d_forward", "mkl DGEMM"}) == "im2col_gemm");
  CHECK(told({"aten::_scaled_dot_product_flash_attention_for_cpu", "mkl SGEMM", "onednn matmul gemm:jit"}) == "flash");
  CHECK(told({"aten::bmm", "aten::_softmax", "aten::bmm", "mkl SGEMM"}) == "unfused");
  CHECK(told({"onednn reorder jit:uni", "mkl VSEXP", "aten::clone", "aten::_local_scalar_dense"}).empty());
}

TEST_CASE("LibTorch's random numbers on a GPU are predicted", "[probe]") {
  // torch.manual_seed(0); torch.rand(8, device="cuda"), as countless public examples print it.
  const std::vector<float> printed = {0.3990F, 0.5167F, 0.0249F, 0.9401F, 0.9459F, 0.7967F, 0.4150F, 0.8203F};
  const std::vector<float> predicted = predicted_uniform(0, 270'336, 8);
  for (std::size_t i = 0; i < printed.size(); ++i) CHECK(predicted[i] == Approx(printed[i]).margin(5.1e-5));
}

TEST_CASE("two cards draw the same up to the grid of the smaller one, and no further", "[probe]") {
  struct Card {
    const char* name;
    int multiprocessors;
    int threads_per_multiprocessor;
    std::int64_t grid_threads;
  };
  // Threads from the CUDA C++ Programming Guide's table of compute capabilities. The boundaries of H20 and 4090D were
  // observed (PyTorch #176584), the others follow from the sizes of the cards.
  const Card cards[] = {{"T4", 40, 1024, 40'960},        {"H20", 78, 2048, 159'744},       {"V100", 80, 2048, 163'840},
                        {"4090D", 114, 1536, 175'104},   {"RTX 4090", 128, 1536, 196'608}, {"A100", 108, 2048, 221'184},
                        {"H100 SXM", 132, 2048, 270'336}};
  std::vector<float> smaller;
  std::int64_t smaller_grid = 0;
  for (const Card& card : cards) {
    CAPTURE(card.name);
    CHECK(random_grid_threads(card.multiprocessors, card.threads_per_multiprocessor) == card.grid_threads);
    const std::vector<float> drawn = predicted_uniform(7, card.grid_threads, 300'000);
    if (!smaller.empty()) {
      const auto [first, other] = std::mismatch(smaller.begin(), smaller.end(), drawn.begin());
      CHECK(first - smaller.begin() == smaller_grid);
    }
    smaller = drawn;
    smaller_grid = card.grid_threads;
  }
}

TEST_CASE("an address pattern finds the one word that is not its own address", "[probe]") {
  std::vector<at::Tensor> blocks = allocate_blocks(at::Device(at::kCPU), std::int64_t{128} << 20);
  REQUIRE(blocks.size() == 2);
  for (const bool complemented : {false, true}) {
    write_addresses(blocks, complemented);
    CHECK(verify_addresses(blocks, complemented).wrong_words == 0);
    CHECK(verify_addresses(blocks, complemented).verified_bytes == std::int64_t{128} << 20);
    CHECK(verify_addresses(blocks, !complemented).verified_bytes == 0);
  }
  // An address line stuck at 0 would make a block answer for its neighbour.
  write_addresses(blocks, false);
  blocks[1].copy_(blocks[0]);
  CHECK(verify_addresses(blocks, false).wrong_words == blocks[1].numel());
}

}  // namespace
}  // namespace reprobench
