// The seed workload: 784-128-10 with ReLU and softmax cross-entropy, on 28x28 digits; `small` has 16 hidden units, for
// steps so short that everything around them shows.
#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include "models/model_spec.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kInputs = 28 * 28;
constexpr std::int64_t kClasses = 10;

constexpr std::int64_t parameter_count(std::int64_t hidden) {
  return kInputs * hidden + hidden + hidden * kClasses + kClasses;
}

struct Size {
  ModelPreset preset;
  std::int64_t hidden;
  float scale2;  // of fc2.weight
};

// He et al. 2015: sqrt(2 / fan-in) keeps the variance through a ReLU.
constexpr float kScale1 = 0.0505076272F;  // sqrt(2 / 784)
constexpr Size kBase{{"base", parameter_count(128), 32, AdamSettings{}}, 128, 0.125F};
constexpr Size kSmall{{"small", parameter_count(16), 32, AdamSettings{}}, 16, 0.353553391F};
constexpr ModelPreset kPresets[] = {kBase.preset, kSmall.preset};

const Size& size_of(const ModelPreset& preset) { return preset.name == kSmall.preset.name ? kSmall : kBase; }

enum Parameter : std::size_t { kFc1Weight, kFc1Bias, kFc2Weight, kFc2Bias };

class Mlp final : public Model {
 public:
  std::string_view name() const override { return "mlp"; }
  std::string_view summary() const override {
    return "784-128-10 perceptron (small: 784-16-10), ReLU, softmax cross-entropy, handwritten digits";
  }
  std::span<const ModelPreset> presets() const override { return kPresets; }
  std::string_view dataset() const override { return "digits"; }

  std::vector<ParameterSpec> parameters(const ModelPreset& preset) const override {
    const Size& size = size_of(preset);
    return {{"fc1.weight", {size.hidden, kInputs}, kScale1},
            {"fc1.bias", {size.hidden}, 0},
            {"fc2.weight", {kClasses, size.hidden}, size.scale2},
            {"fc2.bias", {kClasses}, 0}};
  }

  std::int64_t flops_per_step(const ModelPreset& preset, std::int64_t batch_size) const override {
    const std::int64_t hidden = size_of(preset).hidden;
    // fc1 needs no gradient of its input: two products instead of three.
    return 2 * batch_size * (2 * kInputs * hidden + 3 * hidden * kClasses);
  }

  ActivationTape activations(const ModelPreset& preset, std::int64_t batch_size) const override {
    const std::int64_t hidden = size_of(preset).hidden;
    ActivationTape tape;
    const auto input = tape.make(batch_size * kInputs, {}, {}, 0, /*has_gradient=*/false);
    tape.hold(input);
    const auto fc1 = tape.make(batch_size * hidden, {input}, {input}, (kInputs + 1) * hidden);
    const auto active = tape.make(batch_size * hidden, {fc1});
    tape.save(active, active);
    const auto logits = tape.make(batch_size * kClasses, {active}, {active}, (hidden + 1) * kClasses);
    for (const auto shown : {fc1, active, logits}) tape.show(shown);
    return with_cross_entropy(std::move(tape), logits, batch_size * kClasses);
  }

  Outputs forward(const Batch& batch, StepContext& step) const override {
    const at::Tensor& input = batch.field("input");                                                     // (B, 784)
    const at::Tensor hidden = at::linear(input, step.parameter(kFc1Weight), step.parameter(kFc1Bias));  // (B, hidden)
    step.tap(hidden, "fc1");
    const at::Tensor active = at::relu(hidden);
    step.tap(active, "relu");
    step.mask(active, "relu_active");
    const at::Tensor logits = at::linear(active, step.parameter(kFc2Weight), step.parameter(kFc2Bias));  // (B, 10)
    step.tap(logits, "fc2");
    step.choice(logits, "predicted_class");
    return {logits};
  }

  at::Tensor loss(const Outputs& outputs, const Batch& batch) const override {
    return at::cross_entropy_loss(outputs.front(), batch.field("target"));
  }
};

}  // namespace

const Model& mlp_model();
const Model& mlp_model() {
  static const Mlp kModel;
  return kModel;
}

}  // namespace reprobench
