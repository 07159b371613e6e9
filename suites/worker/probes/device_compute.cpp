// Products, convolutions and attention on random numbers, over dtypes and shapes: first against fp64, then timed.
#include <array>
#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/ops/conv2d.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR >= 2
#include <ATen/ops/scaled_dot_product_attention.h>
#endif

#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/exact_attention.hpp"
#include "suites/worker/probes/exact_product.hpp"
#include "suites/worker/probes/fp8_product.hpp"
#include "suites/worker/probes/matrix_products.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"

namespace reprobench {
namespace {

constexpr bool kShowsAlgorithm = true;
constexpr bool kThroughLibraries = true;

// A reference is computed where something is held against it.
template <class Compute>
at::Tensor reference(const ProbeRun& run, const Compute& compute) {
  return run.watching() ? at::Tensor() : compute();
}

// Square, and the thin ones of a small batch.
std::vector<ProductShape> product_shapes(const ProbeRun& run) {
  if (run.on_cpu()) return {{64, 64, 64}, {256, 256, 256}, {16, 512, 1024}};
  return {{1024, 1024, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192}, {16, 8192, 8192}};
}

void measure_fp8_product(ProbeRun& run, const ProductShape& shape) {
  const std::string text = shape_text({shape.rows, shape.columns, shape.depth});
  const Labels labels = {{"dtype", "fp8"}, {"shape", text}};
  const at::Tensor a = run.random_normal("gemm.a." + text, {shape.rows, shape.depth});
  const at::Tensor b = run.random_normal("gemm.b." + text, {shape.depth, shape.columns});
  const auto multiply = fp8_product(a, b);
  if (!multiply) return run.cannot("gemm", labels, "LibTorch has no product of 8-bit numbers before 2.5");
  const at::Tensor exact = reference(run, [&] { return exact_product(a, b); });
  const double bound = product_error_bound_rel("fp8", shape.depth);
  const double flop = 2.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.columns * shape.depth);
  run.measure({"gemm", labels, flop, multiply, [&](const at::Tensor& result) { return close_to(result, exact, bound); },
               kShowsAlgorithm});
}

void measure_convolutions(ProbeRun& run) {
  const std::int64_t images = run.on_cpu() ? 2 : 64;
  const std::int64_t channels = run.on_cpu() ? 16 : 256;
  const std::int64_t side = 32;
  const at::Tensor input = run.random_normal("conv.input", {images, channels, side, side});
  const at::Tensor filters = run.random_normal("conv.filters", {channels, channels, 3, 3});
  const auto convolve = [](const at::Tensor& x, const at::Tensor& w) { return at::conv2d(x, w, {}, 1, 1); };
  const at::Tensor exact = reference(run, [&] { return convolve(input.to(at::kDouble), filters.to(at::kDouble)); });
  const double flop = 2.0 * static_cast<double>(images * side * side) * static_cast<double>(channels * channels * 9);
  for (const ProductDtype& dtype : product_dtypes()) {
    if (dtype.type == at::kDouble) continue;  // it is the reference
    const Labels labels = {{"dtype", dtype.name}, {"shape", shape_text({images, channels, side, side})}};
    if (dtype.tf32 && run.on_cpu()) {
      run.cannot("conv", labels, "a CPU has no TF32");
      continue;
    }
    const Tf32Scope precision(dtype.tf32);
    const at::Tensor x = input.to(dtype.type);
    const at::Tensor w = filters.to(dtype.type);
    const auto bound_of = [&](std::string_view algorithm) {
      return convolution_error_bound_rel(dtype.name, channels, algorithm);
    };
    Operation operation{"conv",
                        labels,
                        flop,
                        [&] { return convolve(x, w); },
                        [&](const at::Tensor& result) { return close_to(result, exact, bound_of("")); },
                        kShowsAlgorithm};
    operation.bound_of = bound_of;
    run.measure(operation);
  }
}

// LibTorch's own where there is one (2.0 and later).
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
#if TORCH_VERSION_MAJOR >= 2
  return at::scaled_dot_product_attention(q, k, v);
#else
  return composed_attention(q, k, v);
#endif
}

void measure_attention(ProbeRun& run) {
  const std::int64_t batch = run.on_cpu() ? 2 : 16;
  const std::int64_t heads = run.on_cpu() ? 4 : 16;
  const std::int64_t tokens = run.on_cpu() ? 128 : 2048;
  const std::int64_t width = 64;
  const std::vector<std::int64_t> shape = {batch, heads, tokens, width};
  const at::Tensor q = run.random_normal("attention.q", shape);
  const at::Tensor k = run.random_normal("attention.k", shape);
  const at::Tensor v = run.random_normal("attention.v", shape);
  const at::Tensor exact = reference(run, [&] { return exact_attention(q, k, v); });
  const double flop = 4.0 * static_cast<double>(batch * heads) * static_cast<double>(tokens * tokens * width);
  for (const ProductDtype& dtype : product_dtypes()) {
    if (dtype.type == at::kDouble) continue;  // it is the reference
    const Labels labels = {{"dtype", dtype.name}, {"shape", shape_text({batch, heads, tokens, width})}};
    if (dtype.tf32 && run.on_cpu()) {
      run.cannot("attention", labels, "a CPU has no TF32");
      continue;
    }
    const Tf32Scope precision(dtype.tf32);
    const std::array<at::Tensor, 3> of_dtype = {q.to(dtype.type), k.to(dtype.type), v.to(dtype.type)};
    const double bound = attention_error_bound_rel(dtype.name, width, tokens);
    run.measure({"attention", labels, flop, [&] { return attention(of_dtype[0], of_dtype[1], of_dtype[2]); },
                 [&](const at::Tensor& result) { return close_to(result, exact, bound); }, kShowsAlgorithm});
  }
}

}  // namespace

void probe_device_compute(ProbeRun& run) {
  run.measure_then_watch([&] {
    for (const ProductShape& shape : product_shapes(run)) {
      measure_products(run, shape, product_dtypes(), kThroughLibraries);
      measure_fp8_product(run, shape);
    }
    measure_convolutions(run);
    measure_attention(run);
  });
}

}  // namespace reprobench
