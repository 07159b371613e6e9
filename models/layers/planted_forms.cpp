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
constexpr double kWrongOne = 1 + 0x1p-20;
constexpr double kOtherEpsilon = 1.1;  // times the usual one: 2^-20 of it would change no bit of a sum with a variance

at::Tensor by_tanh(const at::Tensor& x, double cubic, double one) {
  const at::Tensor inner = (x + x * x * x * cubic) * kSqrtOf2ByPi;
  return x * 0.5 * (at::tanh(inner) + one);
}

at::Tensor by_erf(const at::Tensor& x, double one) { return x * 0.5 * (at::erf(x * std::sqrt(0.5)) + one); }

}  // namespace

at::Tensor gelu_of(const at::Tensor& x, const std::string& name, StepContext& step) {
  const bool is_tanh = step.settings().gelu == Gelu::tanh;
  const auto written_out = [&](double one) { return is_tanh ? by_tanh(x, kCubic, one) : by_erf(x, one); };
  if (is_tanh && step.plants("gelu_constant", name)) return by_tanh(x, kWrongCubic, 1);
  if (step.plants("gelu_bias", name)) return written_out(kWrongOne);
  if (step.plants("gelu_written_out", name)) return written_out(1);
  return at::gelu(x, is_tanh ? "tanh" : "none");
}

at::Tensor input_of_norm(const at::Tensor& x, const std::string& name, StepContext& step) {
  return step.plants("cast_inserted", name) ? x.to(at::kBFloat16).to(x.scalar_type()) : x;
}

double epsilon_of_norm(double epsilon, const std::string& name, StepContext& step) {
  return step.plants("norm_epsilon", name) ? epsilon * kOtherEpsilon : epsilon;
}

}  // namespace reprobench
