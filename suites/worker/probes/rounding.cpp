#include "suites/worker/probes/rounding.hpp"

#include <cmath>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

namespace reprobench {
namespace {

constexpr int kFractionBits = 23;  // of fp32

}  // namespace

at::Tensor rounding_probe_operand() {
  std::vector<float> values;
  for (int k = 1; k <= kFractionBits; ++k) values.push_back(1.0f + std::ldexp(1.0f, -k));
  return at::from_blob(values.data(), {kFractionBits}, at::kFloat).clone();
}

at::Tensor rounding_product(const at::Tensor& operand, std::int64_t side) {
  at::Tensor rows = at::zeros({side, side}, operand.options());
  rows.narrow(0, 0, kFractionBits).copy_(operand.view({-1, 1}).expand({kFractionBits, side}));
  at::Tensor selector = at::zeros({side, side}, operand.options());
  selector.select(0, 0).fill_(1);
  return at::mm(rows, selector).select(1, 0).narrow(0, 0, kFractionBits);
}

int kept_significand_bits(const at::Tensor& result) {
  const at::Tensor host = result.to(at::kCPU).to(at::kFloat).contiguous().view({-1});
  const auto* values = static_cast<const float*>(host.data_ptr());
  int kept = 1;  // the leading one
  while (kept <= kFractionBits && values[kept - 1] == 1.0f + std::ldexp(1.0f, -kept)) ++kept;
  return kept;
}

}  // namespace reprobench
