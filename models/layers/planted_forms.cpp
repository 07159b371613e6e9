#include "models/layers/planted_forms.hpp"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/tanh.h>

#include "models/model_spec.hpp"

namespace reprobench {
namespace {

constexpr double kCubic = 0.044715;
constexpr double kWrongCubic = 0.044714;  // a slip of one digit: 7e-8 of the result in fp64, less than fp32 rounds
constexpr double kSqrtOf2ByPi = 0.7978845608028654;

at::Tensor by_tanh(const at::Tensor& x, double cubic) {
  const at::Tensor inner = (x + x * x * x * cubic) * kSqrtOf2ByPi;
  return x * 0.5 * (at::tanh(inner) + 1);
}

at::Tensor by_erf(const at::Tensor& x) { return x * 0.5 * (at::erf(x * std::sqrt(0.5)) + 1); }

}  // namespace

at::Tensor gelu_of(const at::Tensor& x, const std::string& name, StepContext& step) {
  const bool is_tanh = step.knob("gelu") == "tanh";
  if (is_tanh && step.plants("gelu_constant", name)) return by_tanh(x, kWrongCubic);
  if (step.plants("gelu_written_out", name)) return is_tanh ? by_tanh(x, kCubic) : by_erf(x);
  return at::gelu(x, is_tanh ? "tanh" : "none");
}

at::Tensor input_of_norm(const at::Tensor& x, const std::string& name, StepContext& step) {
  return step.plants("cast_inserted", name) ? x.to(at::kBFloat16).to(x.scalar_type()) : x;
}

}  // namespace reprobench
