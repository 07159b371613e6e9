// A step of multimodal pre-training: encoders of a text, an image and a video. The text looks at the other two by
// cross-attention to predict its hidden words (Li et al. 2021, "ALBEF", has the pattern for images; joint attention
// over the squares of all frames is that of Arnab et al. 2021, "ViViT", model 1). `base` has ViT-B's sizes; `tiny`
// trains in seconds on one core. Both read drawn scenes, their clips and sentences byte by byte.
//
// B: batch, F: frames, N: squares of an image, T: tokens, C: width, V: vocabulary.
#include <ATen/core/Tensor.h>

#include "matrix/contract/knob.hpp"
#include "models/layers/encoder.hpp"
#include "models/layers/layered_model.hpp"

namespace reprobench::model::fusion {
namespace {

struct Preset {
  ModelPreset preset;
  EncoderSize text;
  EncoderSize image;
  EncoderSize video;
  EncoderSize fusion;  // of one width with the others
  std::int64_t patch_side;
  std::int64_t vocabulary;
};

constexpr AdamWSettings kAdamW{{.learning_rate = 1e-4}, 0.02};
constexpr AdamWSettings kTinyAdamW{{.learning_rate = 2e-3}, 0.02};

constexpr EncoderSize layers_of(std::int64_t layers, std::int64_t width) {
  return {layers, width, width / 64, 4 * width};
}
constexpr EncoderSize tiny_of(std::int64_t layers) { return {layers, 64, 4, 256}; }

constexpr Preset kPresetTable[] = {{{"tiny", 321'088, 8, kTinyAdamW, 40, WarmupCosine{5, 0.1}, 24, 3},
                                    tiny_of(1),
                                    tiny_of(1),
                                    tiny_of(1),
                                    tiny_of(2),
                                    6,
                                    260},
                                   {{"base", 295'387'392, 8, kAdamW, 77, WarmupCosine{100}, 224, 8},
                                    layers_of(6, 768),
                                    layers_of(12, 768),
                                    layers_of(12, 768),
                                    layers_of(6, 768),
                                    16,
                                    30'522}};

template <class Layers>
class Fusion {
 public:
  using Value = typename Layers::Value;

  Fusion(Layers& layers, const Preset& size) : layers_(layers), size_(size), width_(size.fusion.width) {}

  // (B, T, V)
  Value logits() {
    const std::int64_t side = size_.preset.image_side;
    const Value tokens = layers_.field("tokens", {size_.preset.context_length});
    const Value image = layers_.field("image", {3, side, side});
    const Value video = layers_.field("video", {size_.preset.frames, 3, side, side});
    const Value seen = layers_.concatenated(image_positions(image), video_positions(video));  // (B, N + F N, C)
    const Value rows =
        layers_.parameter({"text_model.token_embedding.weight", {size_.vocabulary, width_}, kWeightScale});
    Value x = embedded_text(layers_, tokens, rows, "text_model", size_.preset.context_length, width_);
    x = encoder(layers_, x, "text_model.encoder", size_.text);
    for (std::int64_t layer = 0; layer < size_.fusion.layers; ++layer) {
      x = layers_.block({x, seen}, [this, name = "fusion.layers." + std::to_string(layer)](
                                       const std::vector<Value>& in) { return fused(in[0], in[1], name); });
    }
    const Value logits = layers_.product(layers_.layer_norm(x, "fusion.final_layer_norm"), rows, "fusion.head");
    layers_.choice(logits, "predicted_token");
    return logits;
  }

 private:
  std::int64_t squares() const { return squares_of(size_.preset.image_side, size_.patch_side); }

  Value image_positions(const Value& image) {
    const std::string name = "image_model";
    Value x = layers_.patches(image, name + ".patch_embedding", {width_, size_.patch_side, /*bias=*/true});
    x = with_positions(layers_, x, name + ".position_embedding", squares(), width_);
    return layers_.layer_norm(encoder(layers_, x, name + ".encoder", size_.image), name + ".post_layernorm");
  }

  Value video_positions(const Value& video) {
    const std::string name = "video_model";
    const std::int64_t frames = size_.preset.frames;
    Value x = layers_.patches(layers_.frames_apart(video), name + ".patch_embedding",
                              {width_, size_.patch_side, /*bias=*/true});  // (B F, N, C)
    x = with_positions(layers_, layers_.frames_together(x, frames), name + ".position_embedding", frames * squares(),
                       width_);
    return layers_.layer_norm(encoder(layers_, x, name + ".encoder", size_.video), name + ".post_layernorm");
  }

  // (B, T, C), (B, S, C) -> (B, T, C): attention to itself, to what is seen, a perceptron
  Value fused(Value x, const Value& seen, const std::string& name) {
    Value normal = layers_.layer_norm(x, name + ".layer_norm1");
    x = layers_.add(x, attention_to(layers_, normal, normal, name + ".self_attn", size_.fusion));
    normal = layers_.layer_norm(x, name + ".layer_norm2");
    x = layers_.add(x, attention_to(layers_, normal, seen, name + ".cross_attn", size_.fusion));
    normal = layers_.layer_norm(x, name + ".layer_norm3");
    return layers_.shown(layers_.add(x, perceptron(layers_, normal, name + ".mlp", size_.fusion)), name);
  }

  Layers& layers_;
  const Preset& size_;
  std::int64_t width_;
};

class FusionModel final : public LayeredModel<kPresetTable, Fusion> {
 public:
  std::string_view name() const override { return "fusion"; }
  std::string_view summary() const override {
    return "text, image and video encoders with cross-modal attention (tiny; base: ViT-B's sizes), hidden words told "
           "from drawn scenes and clips";
  }
  std::string_view dataset() const override { return "clips"; }
  std::vector<const Knob*> knobs() const override { return {&knob_for<&Settings::gelu>()}; }
};

}  // namespace

const Model& instance();
const Model& instance() {
  static const FusionModel kModel;
  return kModel;
}

}  // namespace reprobench::model::fusion
