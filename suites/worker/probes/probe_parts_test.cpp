// What probes are made of: bounds, references, signatures, patterns.
#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include "ci/catch.hpp"
#include "suites/worker/innermost_operators.hpp"
#include "suites/worker/probes/capacity.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/exact_product.hpp"
#include "suites/worker/probes/framework_random.hpp"
#include "suites/worker/probes/library_algorithm.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/probes/rounding.hpp"

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
  CHECK(told({"void some_new_kernel<float>"}).empty());
  CHECK(told({}).empty());
}

TEST_CASE("the operators that do the work are those that call no other", "[probe]") {
  const at::Tensor a = at::ones({4, 4});
  const auto names = innermost_operators([&] { at::matmul(a, a.t()).softmax(-1); });
  CHECK(names == std::vector<std::string>{"aten::mm", "aten::_softmax"});
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
