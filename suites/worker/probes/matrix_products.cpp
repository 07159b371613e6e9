#include "suites/worker/probes/matrix_products.hpp"

#include <functional>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/knobs/float32_precision.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/exact_product.hpp"
#include "suites/worker/probes/probe_run.hpp"

namespace reprobench {
namespace {

constexpr ProductDtype kProductDtypes[] = {{"fp64", at::kDouble, false},
                                           {"fp32", at::kFloat, false},
                                           {"tf32", at::kFloat, true},
                                           {"bf16", at::kBFloat16, false},
                                           {"fp16", at::kHalf, false}};
constexpr bool kKernelsTell = true;

struct Operands {
  at::Tensor a;
  at::Tensor b;
  bool tf32;
};

// The same product without LibTorch between: what remains of a difference is the library's.
void measure_cublaslt(ProbeRun& run, Labels labels, double flop, const Operands& operands,
                      const std::function<Correctness(const at::Tensor&)>& check) {
  if (run.on_cpu()) return;
  labels["library"] = "cublaslt";
  const CublasLtProduct product = cublaslt_product(operands.a, operands.b, operands.tf32);
  if (!product.multiply) return run.cannot("gemm", labels, product.algorithm);
  run.measure({"gemm", labels, flop, product.multiply,
               [&](const at::Tensor& result) {
                 Correctness correctness = check(result);
                 if (correctness.right) correctness.finding = product.algorithm;
                 return correctness;
               },
               kKernelsTell});
}

}  // namespace

std::span<const ProductDtype> product_dtypes() { return kProductDtypes; }

Tf32Scope::Tf32Scope(bool on) { set_tf32(on); }
Tf32Scope::~Tf32Scope() { set_tf32(false); }

std::string shape_text(std::initializer_list<std::int64_t> extents) {
  std::string text;
  for (const std::int64_t extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

void measure_products(ProbeRun& run, const ProductShape& shape, std::span<const ProductDtype> dtypes,
                      bool through_libraries) {
  const std::string text = shape_text({shape.rows, shape.columns, shape.depth});
  const at::Tensor a = run.random_normal("gemm.a." + text, {shape.rows, shape.depth});
  const at::Tensor b = run.random_normal("gemm.b." + text, {shape.depth, shape.columns});
  const at::Tensor exact = run.watching() ? at::Tensor() : exact_product(a, b);
  for (const ProductDtype& dtype : dtypes) {
    const Labels labels = {{"dtype", dtype.name}, {"shape", text}};
    if (dtype.tf32 && run.on_cpu()) {
      run.cannot("gemm", labels, "a CPU has no TF32");
      continue;
    }
    const Tf32Scope precision(dtype.tf32);
    const at::Tensor x = a.to(dtype.type);
    const at::Tensor y = b.to(dtype.type);
    at::Tensor product = at::empty({shape.rows, shape.columns}, x.options());
    const double bound = product_error_bound_rel(dtype.name, shape.depth);
    const auto check = [&](const at::Tensor& result) {
      const Correctness correctness = close_to(result, exact, bound);
      if (dtype.type != at::kDouble || !correctness.right) return correctness;
      // The reference is an fp64 product of the same library: fp64 also answers to long double, at elements.
      const double error = worst_element_error_rel(result, a, b, 256);
      return Correctness{error <= bound, error <= bound ? "" : "off from long double", error, bound};
    };
    run.measure({"gemm", labels, shape.flop(), [&] { return at::mm_out(product, x, y); }, check, kKernelsTell});
    if (through_libraries) measure_cublaslt(run, labels, shape.flop(), {x, y, dtype.tf32}, check);
  }
}

}  // namespace reprobench
