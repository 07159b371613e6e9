// The seed workload: fully connected layers of 28x28 digits with ReLU and softmax cross-entropy. `base` is 784-128-10,
// trained by Adam; `sgd` and `adamw` are that with another optimizer; `small` has 16 hidden units, for steps so short
// that everything around them shows; in `mid`, 784-512-512-512-10, the update of the weights is half of the work.
#include <algorithm>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include "models/model_spec.hpp"

namespace reprobench::model::mlp {
namespace {

constexpr std::int64_t kInputs = 28 * 28;
constexpr std::int64_t kClasses = 10;

constexpr std::int64_t parameter_count(std::int64_t hidden, std::int64_t hidden_layers = 1) {
  return (kInputs + 1) * hidden + (hidden_layers - 1) * (hidden + 1) * hidden + (hidden + 1) * kClasses;
}

struct Size {
  ModelPreset preset;
  std::int64_t hidden;
  float hidden_scale;  // of weights that read a hidden layer
  std::int64_t hidden_layers = 1;
};

// He et al. 2015: sqrt(2 / fan-in) keeps the variance through a ReLU.
constexpr float kInputScale = 0.0505076272F;  // sqrt(2 / 784)
constexpr Size kSizes[] = {
    {{"base", parameter_count(128), 32, AdamSettings{}}, 128, 0.125F},
    {{"small", parameter_count(16), 32, AdamSettings{}}, 16, 0.353553391F},
    {{"sgd", parameter_count(128), 32, SgdSettings{}}, 128, 0.125F},
    {{"adamw", parameter_count(128), 32, AdamWSettings{}}, 128, 0.125F},
    {{"mid", parameter_count(512, 3), 32, AdamWSettings{}}, 512, 0.0625F, 3},
};
constexpr ModelPreset kPresets[] = {kSizes[0].preset, kSizes[1].preset, kSizes[2].preset, kSizes[3].preset,
                                    kSizes[4].preset};

const Size& size_of(const ModelPreset& preset) {
  return *std::ranges::find(kSizes, preset.name, [](const Size& size) { return size.preset.name; });
}

std::string layer_name(std::int64_t layer) { return "fc" + std::to_string(layer + 1); }

class Mlp final : public Model {
 public:
  std::string_view name() const override { return "mlp"; }
  std::string_view summary() const override {
    return "784-128-10 perceptron (small: 784-16-10, mid: 784-512-512-512-10), ReLU, softmax cross-entropy, "
           "handwritten "
           "digits";
  }
  std::span<const ModelPreset> presets() const override { return kPresets; }
  std::string_view dataset() const override { return "digits"; }

  // Of layer L the weight at 2 L, the bias behind it.
  std::vector<ParameterSpec> parameters(const ModelPreset& preset) const override {
    const Size& size = size_of(preset);
    std::vector<ParameterSpec> specs;
    for (std::int64_t layer = 0; layer <= size.hidden_layers; ++layer) {
      const std::int64_t reads = layer == 0 ? kInputs : size.hidden;
      const std::int64_t makes = layer == size.hidden_layers ? kClasses : size.hidden;
      specs.push_back({layer_name(layer) + ".weight", {makes, reads}, layer == 0 ? kInputScale : size.hidden_scale});
      specs.push_back({layer_name(layer) + ".bias", {makes}, 0});
    }
    return specs;
  }

  std::int64_t flops_per_step(const ModelPreset& preset, std::int64_t batch_size) const override {
    const Size& size = size_of(preset);
    // The first layer needs no gradient of its input: two products instead of three.
    const std::int64_t between = (size.hidden_layers - 1) * size.hidden * size.hidden;
    return 2 * batch_size * (2 * kInputs * size.hidden + 3 * between + 3 * size.hidden * kClasses);
  }

  ActivationTape activations(const ModelPreset& preset, std::int64_t batch_size) const override {
    const Size& size = size_of(preset);
    ActivationTape tape;
    auto read = tape.make(batch_size * kInputs, {}, {}, 0, /*has_gradient=*/false);
    tape.hold(read);
    std::int64_t width = kInputs;
    for (std::int64_t layer = 0; layer < size.hidden_layers; ++layer) {
      const auto linear = tape.make(batch_size * size.hidden, {read}, {read}, (width + 1) * size.hidden);
      const auto active = tape.make(batch_size * size.hidden, {linear});
      tape.save(active, active);
      tape.show(linear);
      tape.show(active);
      read = active;
      width = size.hidden;
    }
    const auto logits = tape.make(batch_size * kClasses, {read}, {read}, (width + 1) * kClasses);
    tape.show(logits);
    return with_cross_entropy(std::move(tape), logits, batch_size * kClasses);
  }

  Outputs forward(const Batch& batch, StepContext& step) const override {
    const std::int64_t hidden_layers = size_of(step.preset()).hidden_layers;
    at::Tensor read = batch.field("input");  // (B, 784)
    const auto linear = [&](std::int64_t layer) {
      const auto weight = static_cast<std::size_t>(2 * layer);
      at::Tensor made = at::linear(read, step.parameter(weight), step.parameter(weight + 1));
      step.tap(made, layer_name(layer));
      return made;
    };
    for (std::int64_t layer = 0; layer < hidden_layers; ++layer) {
      const std::string number = layer == 0 ? "" : std::to_string(layer + 1);
      read = at::relu(linear(layer));  // (B, hidden)
      step.tap(read, "relu" + number);
      step.mask(read, "relu_active" + number);
    }
    const at::Tensor logits = linear(hidden_layers);  // (B, 10)
    step.choice(logits, "predicted_class");
    return {logits};
  }

  at::Tensor loss(const Outputs& outputs, const Batch& batch) const override {
    return at::cross_entropy_loss(outputs.front(), batch.field("target"));
  }
};

}  // namespace

const Model& instance();
const Model& instance() {
  static const Mlp kModel;
  return kModel;
}

}  // namespace reprobench::model::mlp
