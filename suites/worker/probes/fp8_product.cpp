#include "suites/worker/probes/fp8_product.hpp"

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#define REPROBENCH_HAS_FP8_PRODUCT (TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5))
#if REPROBENCH_HAS_FP8_PRODUCT
#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/ones.h>
#endif

namespace reprobench {

std::function<at::Tensor()> fp8_product(const at::Tensor& a, const at::Tensor& b) {
#if REPROBENCH_HAS_FP8_PRODUCT
  // Numbers of variance 1 lie well inside E4M3's range, so both scales are 1. The second operand has to be
  // column-major.
  const at::Tensor x = a.to(at::kFloat8_e4m3fn);
  const at::Tensor y = b.t().contiguous().to(at::kFloat8_e4m3fn).t();
  const at::Tensor scale = at::ones({}, a.options());
  return [x, y, scale] { return at::_scaled_mm(x, y, scale, scale, {}, {}, at::kBFloat16); };
#else
  (void)a;
  (void)b;
  return {};
#endif
}

}  // namespace reprobench
