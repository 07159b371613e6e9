// A vision-language model in the manner of MiniCPM-V (Yao et al. 2024): a vision transformer reads slices of an image,
// and a few learnt queries sum each of them up by cross-attention. A LLaMA decoder has the result in its sequence,
// after the first token. `8b` has the sizes of MiniCPM-Llama3-V 2.5 (SigLIP-400M, 96 queries, LLaMA 3 8B); `tiny`
// trains in seconds on one core. Both read drawn scenes in five slices and answer questions byte by byte.
//
// B: batch, N: slices, P: squares of a slice, Q: queries, T: tokens, C: width, V: vocabulary.
#include <ATen/core/Tensor.h>

#include "matrix/contract/knob.hpp"
#include "models/layers/encoder.hpp"
#include "models/layers/layered_model.hpp"
#include "models/llama/decoder.hpp"

namespace reprobench::model::vlm {
namespace {

constexpr std::int64_t kSlices = 5;  // of the data set

struct Preset {
  ModelPreset preset;
  EncoderSize vision;
  std::int64_t patch_side;
  std::int64_t queries;
  std::int64_t resampler_heads;
  LlamaSize decoder;
};

constexpr AdamWSettings kAdamW{{.learning_rate = 1e-6}, 0.1};
constexpr AdamWSettings kTinyAdamW{{.learning_rate = 3e-3, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8}, 0.1};

constexpr Preset kPresetTable[] = {
    {{"tiny", 184'576, 4, kTinyAdamW, 48, WarmupCosine{5, 0.1}, 24},
     {1, 48, 4, 192},
     6,
     4,
     4,
     {.layers = 2, .width = 64, .heads = 4, .kv_heads = 2, .hidden = 176, .vocabulary = 260}},
    {{"8b", 8'532'627'184, 1, kAdamW, 2048, WarmupCosine{100}, 448},
     {27, 1152, 16, 4304},
     14,
     96,
     32,
     {.layers = 32,
      .width = 4096,
      .heads = 32,
      .kv_heads = 8,
      .hidden = 14'336,
      .vocabulary = 128'256,
      .rotary_base = 500'000}}};

template <class Layers>
class Vlm {
 public:
  using Value = typename Layers::Value;

  Vlm(Layers& layers, const Preset& size) : layers_(layers), size_(size), decoder_(layers, size.decoder, "llm.") {}

  // (B, T, V)
  Value logits() {
    const std::int64_t length = size_.preset.context_length;
    const std::int64_t side = size_.preset.image_side;
    const Value slices = layers_.field("slices", {kSlices, 3, side, side});
    const Value tokens = layers_.field("input", {length});
    const std::int64_t seen_length = kSlices * size_.queries;
    const Value squares = vision(layers_.frames_apart(slices));                      // (B N, P, C')
    const Value seen = layers_.frames_together(resampled(squares), kSlices);         // (B, N Q, C)
    const Value text = decoder_.embed(tokens);                                       // (B, T, C)
    const Value opened = layers_.concatenated(layers_.positions(text, 0, 1), seen);  // (B, 1 + N Q, C)
    const Value rest = layers_.positions(text, 1, length - 1);                       // (B, T - 1, C)
    const Value x = decoder_.blocks(layers_.concatenated(opened, rest), length + seen_length);
    // What is seen is not told again.
    return decoder_.logits(
        layers_.concatenated(layers_.positions(x, 0, 1), layers_.positions(x, 1 + seen_length, length - 1)));
  }

 private:
  Value vision(const Value& images) {
    const std::string name = "vpm";
    const std::int64_t width = size_.vision.width;
    Value x = layers_.patches(images, name + ".embeddings.patch_embedding", {width, size_.patch_side, /*bias=*/true});
    x = with_positions(layers_, x, name + ".embeddings.position_embedding",
                       squares_of(size_.preset.image_side, size_.patch_side), width);
    return layers_.layer_norm(encoder(layers_, x, name + ".encoder", size_.vision), name + ".post_layernorm");
  }

  // (B N, P, C') -> (B N, Q, C)
  Value resampled(const Value& squares) {
    const std::string name = "resampler";
    const std::int64_t width = size_.decoder.width;
    const Value query = layers_.parameter({name + ".query", {size_.queries, width}, kWeightScale});
    const Value asks = layers_.layer_norm(layers_.for_each_of(squares, query), name + ".ln_q");
    const Value seen = layers_.layer_norm(layers_.linear(squares, name + ".kv_proj", {.out = width}), name + ".ln_kv");
    const Value x = attention_to(layers_, asks, seen, name + ".attn", {.width = width, .heads = size_.resampler_heads});
    return layers_.linear(layers_.layer_norm(x, name + ".ln_post"), name + ".proj", {.out = width});
  }

  Layers& layers_;
  const Preset& size_;
  LlamaDecoder<Layers> decoder_;
};

class VlmModel final : public LayeredModel<kPresetTable, Vlm> {
 public:
  std::string_view name() const override { return "vlm"; }
  std::string_view summary() const override {
    return "vision transformer, query-token resampler and LLaMA decoder (tiny; 8b: MiniCPM-Llama3-V 2.5's sizes), "
           "questions about drawn scenes in slices";
  }
  std::string_view dataset() const override { return "questions"; }
  std::vector<const Knob*> knobs() const override { return {&knob_for<&Settings::gelu>()}; }
};

}  // namespace

const Model& instance();
const Model& instance() {
  static const VlmModel kModel;
  return kModel;
}

}  // namespace reprobench::model::vlm
