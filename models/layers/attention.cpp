#include "models/layers/attention.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#if __has_include(<ATen/ops/scaled_dot_product_attention.h>)
#include <ATen/ops/scaled_dot_product_attention.h>
#endif
#include <ATen/ops/softmax.h>

#include "models/model_spec.hpp"

namespace reprobench {
namespace {

// The knob is refused where there is no such operator.
at::Tensor fused([[maybe_unused]] const at::Tensor& query, [[maybe_unused]] const at::Tensor& key,
                 [[maybe_unused]] const at::Tensor& value, [[maybe_unused]] bool is_causal) {
#if __has_include(<ATen/ops/scaled_dot_product_attention.h>)
  return at::scaled_dot_product_attention(query, key, value, /*attn_mask=*/{}, /*dropout_p=*/0, is_causal);
#else
  throw std::logic_error("this LibTorch has no fused attention");
#endif
}

at::Tensor written_out(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       const at::Tensor& future, const std::string& name, StepContext& step) {
  double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  if (step.plants("attention_scale", name + ".scores")) scale *= 1 + 0x1p-20;
  at::Tensor scores = at::matmul(query, key.transpose(-2, -1)) * scale;  // (B, H, T, S)
  step.tap(scores, name + ".scores");
  if (future.defined()) scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  const at::Tensor weights = at::softmax(scores, -1);
  step.tap(weights, name + ".softmax");
  return at::matmul(weights, value);
}

}  // namespace

at::Tensor future_of(std::int64_t context, const at::Tensor& like) {
  return at::ones({context, context}, like.options().dtype(at::kBool)).triu(1);
}

at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& future,
                  const std::string& name, StepContext& step) {
  const bool is_fused =
      step.settings().attention != AttentionBackend::written_out || step.plants("attention_fused", name + ".mixed");
  const at::Tensor heads = is_fused ? fused(query, key, value, future.defined())
                                    : written_out(query, key, value, future, name, step);  // (B, H, T, D)
  const at::Tensor mixed = heads.transpose(1, 2).reshape({query.size(0), query.size(2), -1});
  step.tap(mixed, name + ".mixed");
  return mixed;
}

}  // namespace reprobench
