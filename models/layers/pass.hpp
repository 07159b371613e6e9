// The forward pass of a network that is written over `Declaration` or this. Parameters and buffers are taken in the
// order in which the network asks for them, which is the order in which it declared them. A tensor that is computed
// under a name is tapped under that name.
//
// Shapes: B batch, T and S positions, C channels, H heads, D = C / H, K key and value heads.
#pragma once

#include <cstdint>
#include <string>

#include "models/layers/declaration.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

class Pass {
 public:
  using Value = at::Tensor;

  Pass(const Batch& batch, StepContext& step) : batch_(batch), step_(step) {}

  at::Tensor field(std::string_view name, const std::vector<std::int64_t>& sample_shape);  // (B, ...)
  at::Tensor parameter(const ParameterSpec& spec);
  at::Tensor table(const std::string& name, const std::vector<std::int64_t>& shape,
                   const std::function<std::vector<float>()>& values);

  // (B, T) int64, (R, C) -> (B, T, C)
  at::Tensor embedding(const at::Tensor& tokens, const at::Tensor& rows, const std::string& name);
  // (..., in) -> (..., out)
  at::Tensor linear(const at::Tensor& x, const std::string& name, const Linear& linear);
  // (B, 3, S, S) -> (B, T, C), row by row
  at::Tensor patches(const at::Tensor& image, const std::string& name, const Patches& patches);
  // Both norms are over the last dimension, with epsilon 1e-5.
  at::Tensor layer_norm(const at::Tensor& x, const std::string& name);
  at::Tensor rms_norm(const at::Tensor& x, const std::string& name, bool frozen = false);
  // (B, T, H D), (B, S, K D) twice -> (B, T, H D)
  at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::string& name,
                       const Attention& attention);
  // (B, T, H D) turned by the angles of each position, whose cosines and sines are (T', D / 2), T' >= T. Element i of a
  // head's first half goes with element i of its second, as in the published checkpoints.
  at::Tensor rotate(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines, std::int64_t heads);
  // (..., C), (R, C) -> (..., R)
  at::Tensor product(const at::Tensor& x, const at::Tensor& rows, const std::string& name);
  // Both tensors have one shape, or `b` has the last dimensions of `a`.
  at::Tensor add(const at::Tensor& a, const at::Tensor& b, double times = 1);
  at::Tensor multiply(const at::Tensor& a, const at::Tensor& b);
  at::Tensor times_exponential(const at::Tensor& x, const at::Tensor& exponent);
  at::Tensor gelu(const at::Tensor& x, const std::string& name);        // in the form of the knob `gelu`
  at::Tensor quick_gelu(const at::Tensor& x, const std::string& name);  // x sigmoid(1.702 x)
  at::Tensor silu(const at::Tensor& x, const std::string& name);
  at::Tensor normalized(const at::Tensor& x);  // of length 1 in the last dimension
  // (B, ...), (T, C) or (C) -> (B, T, C)
  at::Tensor for_each_of(const at::Tensor& samples, const at::Tensor& x);
  at::Tensor concatenated(const at::Tensor& a, const at::Tensor& b);  // (B, T, C), (B, S, C) -> (B, T + S, C)
  at::Tensor positions(const at::Tensor& x, std::int64_t first, std::int64_t count);
  at::Tensor first(const at::Tensor& x);                                 // (B, T, C) -> (B, C)
  at::Tensor position(const at::Tensor& x, const at::Tensor& index);     // (B, T, C), (B) int64 -> (B, C)
  at::Tensor frames_apart(const at::Tensor& x);                          // (B, F, ...) -> (B F, ...)
  at::Tensor frames_together(const at::Tensor& x, std::int64_t frames);  // (B F, T, C) -> (B, F T, C)
  at::Tensor shown(at::Tensor x, const std::string& name);               // taps it
  void choice(const at::Tensor& scores, const std::string& event);
  // Everything else that `compute` refers to must live as long as this pass.
  at::Tensor block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute);

 private:
  const at::Tensor& next_parameter();

  const Batch& batch_;
  StepContext& step_;
  std::size_t next_parameter_ = 0;
  std::size_t next_buffer_ = 0;
};

}  // namespace reprobench
