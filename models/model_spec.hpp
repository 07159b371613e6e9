// What a model is: a folder models/NAME/ whose model.cpp defines `const Model& NAME_model()`. CMake turns the folders
// into the table behind models().
//
// A model declares its parameters, computes an output and a loss from them, and taps what a trace should show. It draws
// no random number, holds no state and owns no tensor: initial weights, order and optimiser are the same code for all
// models, so two stacks cannot differ in them. This header is torch-free; only model.cpp sees LibTorch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

// Adam (Kingma and Ba 2015) without weight decay.
struct AdamSettings {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

struct ModelPreset {
  std::string_view name;
  std::int64_t parameters = 0;  // elements over all parameters
  std::int64_t batch_size = 0;  // the usual one; a request may ask for another
  AdamSettings optimizer;
  std::int64_t context_length = 0;  // tokens of a sample; 0: samples are no sequences
};

// GELU(x) = x Phi(x) with the normal distribution's Phi by erf, or its approximation by tanh (Hendrycks and Gimpel
// 2016), which is the published GPT-2's.
enum class Gelu { tanh, erf };

// Those knobs of a cell that change what a model computes. Model::knobs() says which of them a model looks at.
struct ModelSettings {
  Gelu gelu = Gelu::tanh;
  bool fused_attention = false;  // LibTorch's fused operator; which of its backends is a setting of the process
};

// What Model::flops_per_step() counts: two operations for every multiply-add of a matrix product, forward and backward;
// no element-wise work, no recomputation, nothing saved by a causal mask. For a decoder this is 6 N + 12 L H Q T a
// token (Chowdhery et al. 2022, "PaLM", appendix B) with N the weights that enter matrix products.
inline constexpr std::string_view kFlopConvention = "matrix products, PaLM appendix B";

struct ParameterSpec {
  std::string name;  // "fc1.weight"
  std::vector<std::int64_t> shape;
  float init_scale = 0;  // standard deviation of the initial bell-shaped values
  float init_mean = 0;   // what they lie around; with scale 0 every element is this
};

// What the train loop lends a model during one step.
class StepContext {
 public:
  virtual ~StepContext() = default;
  virtual const ModelPreset& preset() const = 0;
  virtual const ModelSettings& settings() const = 0;

  // Parameter by its place in Model::parameters().
  virtual const at::Tensor& parameter(std::size_t index) const = 0;

  // Shows `value`, and later its gradient, to the trace under `name`.
  virtual void tap(const at::Tensor& value, std::string_view name) = 0;

  // Discrete events, if the trace wants them. `mask`: the elements of `mask` that are not zero take part in the
  // gradient. `choice`: of the last dimension of `scores` the largest element is taken.
  virtual void mask(const at::Tensor& mask, std::string_view event) = 0;
  virtual void choice(const at::Tensor& scores, std::string_view event) = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  virtual std::string_view name() const = 0;  // of its folder
  virtual std::string_view summary() const = 0;
  virtual std::span<const ModelPreset> presets() const = 0;
  virtual std::string_view dataset() const = 0;  // a folder of models/data/

  // Names of the knobs that change what the model computes: they are part of the workload, so the workload digest
  // covers their values.
  virtual std::span<const std::string_view> knobs() const { return {}; }
  virtual std::vector<ParameterSpec> parameters(const ModelPreset& preset) const = 0;
  // Of one training step, by kFlopConvention.
  virtual std::int64_t flops_per_step(const ModelPreset& preset, std::int64_t batch_size) const = 0;

  // input (B, ...) in the data set's type -> output: for a classifier the logits (B, classes), for a decoder
  // (B, context, vocabulary). Taps each module's output.
  virtual at::Tensor forward(const at::Tensor& input, StepContext& step) const = 0;

  // Scalar, mean over the batch.
  virtual at::Tensor loss(const at::Tensor& output, const at::Tensor& target) const = 0;
};

// All models, by folder name.
std::span<const Model* const> models();

}  // namespace reprobench
