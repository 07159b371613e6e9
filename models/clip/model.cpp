// CLIP (Radford et al. 2021): an image and a text become vectors of one space, and in a batch each image should be
// nearest to its own text and each text to its own image. `vit-b-32` and `vit-g-14` have the published sizes, the
// second those of OpenCLIP; `tiny` trains in seconds on one core. All read scenes and their captions byte by byte.
//
// Names are those of the checkpoints as Hugging Face publishes them. B: batch, T: positions, C: width.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>

#include "matrix/contract/knob.hpp"
#include "models/layers/encoder.hpp"
#include "models/layers/layered_model.hpp"

namespace reprobench::model::clip {
namespace {

constexpr std::int64_t kPublishedVocabulary = 49'408;
constexpr float kInitialLogitScale = 2.6592F;  // ln(1 / 0.07), as published

struct Preset {
  ModelPreset preset;
  EncoderSize vision;
  std::int64_t patch_side;
  EncoderSize text;
  std::int64_t vocabulary;
  std::int64_t common;  // width of the space both end in
};

constexpr AdamWSettings kPublishedAdamW{{.learning_rate = 5e-4, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-6}, 0.2};
constexpr AdamWSettings kTinyAdamW{{.learning_rate = 2e-3, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-6}, 0.2};

// As published: 1 / sqrt(C) for most weights. `tiny` begins with twice that, or it would not leave the plateau where
// all vectors are alike within a few steps.
constexpr EncoderSize vision_of(std::int64_t layers, std::int64_t width, std::int64_t heads, std::int64_t hidden,
                                Activation activation, float init_scale) {
  return {layers, width, heads, hidden, activation, /*causal=*/false, init_scale};
}
constexpr EncoderSize text_of(std::int64_t layers, std::int64_t width, std::int64_t heads, Activation activation,
                              float init_scale) {
  return {layers, width, heads, 4 * width, activation, /*causal=*/true, init_scale};
}

constexpr Preset kPresetTable[] = {{{"tiny", 236'289, 16, kTinyAdamW, 48, WarmupCosine{5, 0.1}, 24},
                                    vision_of(2, 64, 4, 256, Activation::quick_gelu, 0.2F),
                                    6,
                                    text_of(2, 64, 4, Activation::quick_gelu, 0.2F),
                                    260,
                                    64},
                                   {{"vit-b-32", 151'277'313, 32, kPublishedAdamW, 77, WarmupCosine{100}, 224},
                                    vision_of(12, 768, 12, 3072, Activation::quick_gelu, 0.0361F),
                                    32,
                                    text_of(12, 512, 8, Activation::quick_gelu, 0.0442F),
                                    kPublishedVocabulary,
                                    512},
                                   {{"vit-g-14", 1'366'678'273, 16, kPublishedAdamW, 77, WarmupCosine{100}, 224},
                                    vision_of(40, 1408, 16, 6144, Activation::gelu, 0.0267F),
                                    14,
                                    text_of(24, 1024, 16, Activation::gelu, 0.0313F),
                                    kPublishedVocabulary,
                                    1024}};

template <class Layers>
class Clip {
 public:
  using Value = typename Layers::Value;

  Clip(Layers& layers, const Preset& size) : layers_(layers), size_(size) {}

  // (B, B), a row an image, a column a text
  Value logits() {
    const std::int64_t side = size_.preset.image_side;
    const Value images = layers_.normalized(image_features(layers_.field("image", {3, side, side})));
    const Value tokens = layers_.field("tokens", {size_.preset.context_length});
    const Value texts = layers_.normalized(text_features(tokens, layers_.field("end", {})));
    const Value scale = layers_.parameter({"logit_scale", {}, 0, kInitialLogitScale});
    const Value similarity = layers_.product(images, texts, "similarity");
    const Value logits = layers_.shown(layers_.times_exponential(similarity, scale), "logits_per_image");
    layers_.choice(logits, "nearest_text");
    return logits;
  }

 private:
  // (B, 3, S, S) -> (B, common): what the class token has become
  Value image_features(const Value& image) {
    const std::string name = "vision_model";
    const std::int64_t width = size_.vision.width;
    const Value squares =
        layers_.patches(image, name + ".embeddings.patch_embedding",
                        {.out = width, .side = size_.patch_side, .init_scale = size_.vision.init_scale});
    const Value whole = layers_.parameter({name + ".embeddings.class_embedding", {width}, kWeightScale});
    const std::int64_t positions = 1 + squares_of(size_.preset.image_side, size_.patch_side);
    Value x = layers_.concatenated(layers_.for_each_of(image, whole), squares);  // (B, T, C)
    x = with_positions(layers_, x, name + ".embeddings.position_embedding", positions, width);
    x = encoder(layers_, layers_.layer_norm(x, name + ".pre_layrnorm"), name + ".encoder", size_.vision);
    x = layers_.layer_norm(layers_.first(x), name + ".post_layernorm");
    return layers_.linear(x, "visual_projection", {.out = size_.common, .init_scale = size_.vision.init_scale});
  }

  // (B, T) -> (B, common): what the end token has become
  Value text_features(const Value& tokens, const Value& end) {
    const std::string name = "text_model";
    const std::int64_t width = size_.text.width;
    const Value rows = layers_.parameter(
        {name + ".embeddings.token_embedding.weight", {size_.vocabulary, width}, size_.text.init_scale});
    Value x = embedded_text(layers_, tokens, rows, name + ".embeddings", size_.preset.context_length, width);
    x = layers_.layer_norm(encoder(layers_, x, name + ".encoder", size_.text), name + ".final_layer_norm");
    return layers_.linear(layers_.position(x, end), "text_projection",
                          {.out = size_.common, .init_scale = size_.text.init_scale});
  }

  Layers& layers_;
  const Preset& size_;
};

// CLIPModel of `transformers`; older files have the numbers of positions, too.
constexpr std::string_view kPositions[] = {".embeddings.position_ids"};
constexpr PublishedNaming kNaming{.by = "Hugging Face CLIP", .constants = kPositions};

class ClipModel final : public LayeredModel<kPresetTable, Clip> {
 public:
  std::string_view name() const override { return "clip"; }
  std::string_view summary() const override {
    return "CLIP, vision and text transformers with a symmetric contrastive loss (tiny; vit-b-32 and vit-g-14 as "
           "published), drawn scenes with captions";
  }
  std::string_view dataset() const override { return "captions"; }
  PublishedNaming published_naming() const override { return kNaming; }
  std::vector<const Knob*> knobs() const override { return {&knob_for<&Settings::gelu>()}; }

  at::Tensor loss(const Outputs& outputs, const Batch& batch) const override {
    const at::Tensor& logits = outputs.front();
    const at::Tensor own = at::arange(logits.size(0), batch.field("end").options());
    return (at::cross_entropy_loss(logits, own) + at::cross_entropy_loss(logits.transpose(0, 1), own)) * 0.5;
  }
};

}  // namespace

const Model& instance();
const Model& instance() {
  static const ClipModel kModel;
  return kModel;
}

}  // namespace reprobench::model::clip
