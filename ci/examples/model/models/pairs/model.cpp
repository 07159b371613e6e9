// Two towers and a symmetric contrastive loss, as small as can be: an image and a text become vectors of one space, and
// of a batch each image should be nearest to its own text. It has one of everything a model may have: three fields of a
// batch, a frozen layer, running statistics, a table of constants, a scalar parameter, two outputs.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>

#include "models/model_spec.hpp"

namespace reprobench::model::pairs {
namespace {

constexpr std::int64_t kPixels = 4 * 8;
constexpr std::int64_t kVocabulary = 8;
constexpr std::int64_t kWidth = 24;   // of the frozen layer
constexpr std::int64_t kCommon = 16;  // of the space both towers end in
constexpr std::int64_t kParameters = kWidth * kPixels + 2 * kWidth + kCommon * kWidth + kVocabulary * kCommon + 1;
constexpr double kMomentum = 0.1;
constexpr double kEpsilon = 1e-5;

constexpr ModelPreset kPresets[] = {
    {"adamw", kParameters, 12, AdamWSettings{{.learning_rate = 0.05}, 0.01}, 0, WarmupCosine{5, 0.1}},
    {"sgd", kParameters, 12, SgdSettings{.learning_rate = 0.02, .momentum = 0.9, .weight_decay = 1e-4}},
    {"plain", kParameters, 12, SgdSettings{.learning_rate = 0.2, .momentum = 0}},
};

// Places in parameters() and buffers().
enum Parameter : std::size_t { kBase, kNormWeight, kNormBias, kImage, kTokens, kScale };
enum Buffer : std::size_t { kMean, kVariance, kPositions };

class Pairs final : public Model {
 public:
  std::string_view name() const override { return "pairs"; }
  std::string_view summary() const override { return "two towers, symmetric contrastive loss, images of words"; }
  std::span<const ModelPreset> presets() const override { return kPresets; }
  std::string_view dataset() const override { return "pairs"; }

  std::vector<ParameterSpec> parameters(const ModelPreset&) const override {
    return {{"image.base.weight", {kWidth, kPixels}, 0.5F, 0, /*frozen=*/true},
            {"image.norm.weight", {kWidth}, 0, 1},
            {"image.norm.bias", {kWidth}},
            {"image.weight", {kCommon, kWidth}, 0.2F},
            {"text.weight", {kVocabulary, kCommon}, 0.2F},
            {"scale", {}, 0, 1}};
  }
  std::vector<BufferSpec> buffers(const ModelPreset&) const override {
    return {{"image.norm.running_mean", {kWidth}},
            {"image.norm.running_var", {kWidth}, 1},
            {"text.positions", {4, 1}, 0, {1, 2, 4, 8}}};
  }

  std::int64_t flops_per_step(const ModelPreset&, std::int64_t batch_size) const override {
    // The frozen layer has one product instead of three.
    return 2 * batch_size * (kPixels * kWidth + 3 * kWidth * kCommon + 3 * batch_size * kCommon);
  }

  Outputs forward(const Batch& batch, StepContext& step) const override {
    const at::Tensor base = at::linear(batch.field("image").flatten(1), step.parameter(kBase));  // (B, width)
    step.tap(base, "image.base");
    const at::Tensor normal =
        at::batch_norm(base, step.parameter(kNormWeight), step.parameter(kNormBias), step.buffer(kMean),
                       step.buffer(kVariance), /*training=*/true, kMomentum, kEpsilon,
                       /*cudnn_enabled=*/true);
    step.tap(normal, "image.norm");
    const at::Tensor images = at::linear(at::relu(normal), step.parameter(kImage));  // (B, common)
    step.tap(images, "image");
    const at::Tensor words = at::embedding(step.parameter(kTokens), batch.field("tokens"));  // (B, 4, common)
    const at::Tensor texts = (words * step.buffer(kPositions)).sum(1);                       // (B, common)
    step.tap(texts, "text");
    const at::Tensor logits = at::matmul(images, texts.transpose(0, 1)) * step.parameter(kScale);  // (B, B)
    step.tap(logits, "logits");
    return {logits, logits.transpose(0, 1)};
  }

  at::Tensor loss(const Outputs& outputs, const Batch& batch) const override {
    const at::Tensor& weight = batch.field("weight");
    const at::Tensor own = at::arange(weight.size(0), batch.field("tokens").options());
    const auto one_way = [&](const at::Tensor& logits) {
      return (at::cross_entropy_loss(logits, own, {}, at::Reduction::None) * weight).mean();
    };
    return (one_way(outputs[0]) + one_way(outputs[1])) * 0.5;
  }
};

}  // namespace

const Model& instance();
const Model& instance() {
  static const Pairs kModel;
  return kModel;
}

}  // namespace reprobench::model::pairs
