#include "models/layers/pass.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

#include "models/layers/attention.hpp"
#include "models/layers/planted_forms.hpp"

namespace reprobench {
namespace {

constexpr double kEpsilon = 1e-5;

// (B, T, H D) -> (B, T, H, D)
at::Tensor by_heads(const at::Tensor& x, std::int64_t heads) { return x.view({x.size(0), x.size(1), heads, -1}); }

// (B, S, K, D) -> (B, H, S, D): each key or value head as often as there are query heads for it.
at::Tensor for_query_heads(const at::Tensor& x, const Attention& attention) {
  const at::Tensor by_head = x.transpose(1, 2);
  const std::int64_t shared_by = attention.heads / attention.kv_heads;
  if (shared_by == 1) return by_head;
  const std::int64_t batch = x.size(0);
  return by_head.unsqueeze(2)
      .expand({batch, attention.kv_heads, shared_by, x.size(1), x.size(3)})
      .reshape({batch, attention.heads, x.size(1), x.size(3)});
}

}  // namespace

const at::Tensor& Pass::next_parameter() { return step_.parameter(next_parameter_++); }

at::Tensor Pass::shown(at::Tensor x, const std::string& name) {
  step_.tap(x, name);
  return x;
}

at::Tensor Pass::field(std::string_view name, const std::vector<std::int64_t>&) { return batch_.field(name); }
at::Tensor Pass::parameter(const ParameterSpec&) { return next_parameter(); }
at::Tensor Pass::table(const std::string&, const std::vector<std::int64_t>&,
                       const std::function<std::vector<float>()>&) {
  return step_.buffer(next_buffer_++);
}

at::Tensor Pass::embedding(const at::Tensor& tokens, const at::Tensor& rows, const std::string& name) {
  return shown(at::embedding(rows, tokens), name);
}

at::Tensor Pass::linear(const at::Tensor& x, const std::string& name, const Linear& linear) {
  const at::Tensor& weight = next_parameter();
  return shown(linear.bias ? at::linear(x, weight, next_parameter()) : at::linear(x, weight), name);
}

at::Tensor Pass::patches(const at::Tensor& image, const std::string& name, const Patches& patches) {
  const at::Tensor& weight = next_parameter();
  const at::Tensor squares = patches.bias ? at::conv2d(image, weight, next_parameter(), patches.side)
                                          : at::conv2d(image, weight, {}, patches.side);  // (B, C, rows, columns)
  return shown(squares.flatten(2).transpose(1, 2), name);
}

at::Tensor Pass::layer_norm(const at::Tensor& x, const std::string& name) {
  const at::Tensor& weight = next_parameter();
  const at::Tensor input = input_of_norm(x, name, step_);
  const double epsilon = epsilon_of_norm(kEpsilon, name, step_);
  return shown(at::layer_norm(input, {x.size(-1)}, weight, next_parameter(), epsilon), name);
}

// Written out: the operator came with LibTorch 2.4.
at::Tensor Pass::rms_norm(const at::Tensor& x, const std::string& name, bool) {
  const at::Tensor mean_square = (x * x).mean({-1}, /*keepdim=*/true);
  return shown(x * at::rsqrt(mean_square + kEpsilon) * next_parameter(), name);
}

at::Tensor Pass::attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                           const std::string& name, const Attention& attention) {
  const at::Tensor future = attention.causal ? future_of(query.size(1), query) : at::Tensor();
  return attend(by_heads(query, attention.heads).transpose(1, 2),
                for_query_heads(by_heads(key, attention.kv_heads), attention),
                for_query_heads(by_heads(value, attention.kv_heads), attention), future, name, step_);
}

// In the tables' precision, as a position's angle has no use for less.
at::Tensor Pass::rotate(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines, std::int64_t heads) {
  const auto of_positions = [&](const at::Tensor& table) { return table.narrow(0, 0, x.size(1)).unsqueeze(1); };
  const at::Tensor cosine = of_positions(cosines);  // (T, 1, D / 2)
  const at::Tensor sine = of_positions(sines);
  const at::Tensor by_head = by_heads(x, heads);
  const std::int64_t half = by_head.size(-1) / 2;
  const at::Tensor first = by_head.narrow(-1, 0, half);
  const at::Tensor second = by_head.narrow(-1, half, half);
  return at::cat({first * cosine - second * sine, second * cosine + first * sine}, -1).flatten(2).to(x.scalar_type());
}

at::Tensor Pass::product(const at::Tensor& x, const at::Tensor& rows, const std::string& name) {
  return shown(at::matmul(x, rows.transpose(0, 1)), name);
}

at::Tensor Pass::add(const at::Tensor& a, const at::Tensor& b, double times) {
  return times == 1 ? a + b : a + b * times;
}
at::Tensor Pass::multiply(const at::Tensor& a, const at::Tensor& b) { return a * b; }
at::Tensor Pass::times_exponential(const at::Tensor& x, const at::Tensor& exponent) { return x * exponent.exp(); }

at::Tensor Pass::gelu(const at::Tensor& x, const std::string& name) { return shown(gelu_of(x, name, step_), name); }
at::Tensor Pass::quick_gelu(const at::Tensor& x, const std::string& name) {
  return shown(x * at::sigmoid(x * 1.702), name);
}
at::Tensor Pass::silu(const at::Tensor& x, const std::string& name) { return shown(at::silu(x), name); }

at::Tensor Pass::normalized(const at::Tensor& x) { return x * at::rsqrt((x * x).sum({-1}, /*keepdim=*/true)); }

at::Tensor Pass::for_each_of(const at::Tensor& samples, const at::Tensor& x) {
  return x.view({-1, x.size(-1)}).unsqueeze(0).expand({samples.size(0), -1, -1});
}
at::Tensor Pass::concatenated(const at::Tensor& a, const at::Tensor& b) { return at::cat({a, b}, 1); }
at::Tensor Pass::positions(const at::Tensor& x, std::int64_t first, std::int64_t count) {
  return x.narrow(1, first, count);
}
at::Tensor Pass::first(const at::Tensor& x) { return x.select(1, 0); }
at::Tensor Pass::position(const at::Tensor& x, const at::Tensor& index) {
  const at::Tensor rows = at::arange(x.size(0), index.options()) * x.size(1) + index;
  return x.flatten(0, 1).index_select(0, rows);
}
at::Tensor Pass::frames_apart(const at::Tensor& x) { return x.flatten(0, 1); }
at::Tensor Pass::frames_together(const at::Tensor& x, std::int64_t frames) {
  return x.reshape({x.size(0) / frames, frames * x.size(1), x.size(2)});
}

// Computed again it asks for the same parameters again.
at::Tensor Pass::block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) {
  return step_.block(inputs, [this, compute, first = next_parameter_](const std::vector<at::Tensor>& given) {
    next_parameter_ = first;
    return compute(given);
  });
}

void Pass::choice(const at::Tensor& scores, const std::string& event) { step_.choice(scores, event); }

}  // namespace reprobench
