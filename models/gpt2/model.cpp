// GPT-2 (Radford et al. 2019): token and learned position embeddings, blocks of causal self-attention and a GELU
// perceptron with a LayerNorm before each, a last LayerNorm, and the token embedding again as output projection.
// Without dropout. `124m` has the published sizes, `tiny` trains in seconds on one core; both read the text byte by
// byte.
//
// Names are the published checkpoint's; weights are (out, in), as at::linear takes them, where that has (in, out).
#include <cmath>
#include <memory>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

#include "matrix/contract/knob.hpp"
#include "models/layers/attention.hpp"
#include "models/layers/declaration.hpp"
#include "models/layers/planted_forms.hpp"
#include "models/layers/token_loss.hpp"
#include "models/model_spec.hpp"

namespace reprobench::model::gpt2 {
namespace {

constexpr double kLayerNormEpsilon = 1e-5;
constexpr float kInitScale = 0.02F;

// Block: two LayerNorms of 2 C, c_attn 3 C^2 + 3 C, attn.c_proj C^2 + C, c_fc 4 C^2 + 4 C, mlp.c_proj 4 C^2 + C.
constexpr std::int64_t decoder_parameters(std::int64_t layers, std::int64_t width, std::int64_t context,
                                          std::int64_t vocabulary) {
  return (vocabulary + context) * width + layers * (12 * width * width + 13 * width) + 2 * width;
}

struct Decoder {
  ModelPreset preset;
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t vocabulary;
};

// Adam of the large preset as nanoGPT and llm.c train it.
constexpr Decoder kTiny{{"tiny", decoder_parameters(4, 128, 64, 256), 4, AdamSettings{}, 64}, 4, 128, 4, 256};
constexpr Decoder k124m{
    {"124m", decoder_parameters(12, 768, 1024, 50257), 4, AdamSettings{6e-4, 0.9, 0.95, 1e-8}, 1024},
    12,
    768,
    12,
    50257};
constexpr ModelPreset kDecoderPresets[] = {kTiny.preset, k124m.preset};

const Decoder& decoder_of(const ModelPreset& preset) { return preset.name == k124m.preset.name ? k124m : kTiny; }

// Places in parameters(): the embeddings, the blocks one after the other, the last LayerNorm.
enum Embedding : std::size_t { kWte, kWpe, kFirstBlock };
enum BlockParameter : std::size_t {
  kLn1Weight,
  kLn1Bias,
  kAttentionWeight,
  kAttentionBias,
  kAttentionProjectionWeight,
  kAttentionProjectionBias,
  kLn2Weight,
  kLn2Bias,
  kFcWeight,
  kFcBias,
  kFcProjectionWeight,
  kFcProjectionBias,
  kBlockParameters
};

// The forward pass of one step. B: batch, T: context, C: width, H: heads, D: C / H, V: vocabulary.
class Gpt2Pass {
 public:
  Gpt2Pass(const Decoder& size, StepContext& step) : size_(size), step_(step) {}

  // tokens (B, T) int64 -> logits (B, T, V)
  at::Tensor logits(const at::Tensor& tokens) {
    const std::int64_t context = tokens.size(1);
    future_ = future_of(context, tokens);
    const at::Tensor& wte = step_.parameter(kWte);
    at::Tensor x = tapped(at::embedding(wte, tokens), "wte");
    x = tapped(x + step_.parameter(kWpe).narrow(0, 0, context), "wpe");
    for (std::int64_t layer = 0; layer < size_.layers; ++layer) {
      x = step_.block({x}, [this, layer](const std::vector<at::Tensor>& in) { return block(in[0], layer); });
    }
    const std::size_t after_blocks = kFirstBlock + static_cast<std::size_t>(size_.layers) * kBlockParameters;
    x = layer_norm(x, after_blocks, "ln_f");
    x = tapped(at::linear(x, wte), "lm_head");
    step_.choice(x, "predicted_token");
    return x;
  }

 private:
  // (B, T, C) -> (B, T, C)
  at::Tensor block(const at::Tensor& input, std::int64_t layer) {
    const std::string name = "h." + std::to_string(layer);
    const std::size_t first = kFirstBlock + static_cast<std::size_t>(layer) * kBlockParameters;
    at::Tensor x = layer_norm(input, first + kLn1Weight, name + ".ln_1");
    const at::Tensor attended = input + attention(x, first, name + ".attn");
    x = layer_norm(attended, first + kLn2Weight, name + ".ln_2");
    return tapped(attended + perceptron(x, first, name + ".mlp"), name);
  }

  at::Tensor attention(const at::Tensor& x, std::size_t first, const std::string& name) {
    const std::int64_t batch = x.size(0);
    const std::int64_t context = x.size(1);
    const std::int64_t head_width = size_.width / size_.heads;
    const auto heads_of = [&](const at::Tensor& part) {  // (B, T, C) -> (B, H, T, D)
      return part.view({batch, context, size_.heads, head_width}).transpose(1, 2);
    };
    const at::Tensor qkv = linear(x, first + kAttentionWeight, name + ".c_attn");  // (B, T, 3 C)
    const at::Tensor query = heads_of(qkv.narrow(-1, 0, size_.width));
    const at::Tensor key = heads_of(qkv.narrow(-1, size_.width, size_.width));
    const at::Tensor value = heads_of(qkv.narrow(-1, 2 * size_.width, size_.width));
    const at::Tensor mixed = attend(query, key, value, future_, name, step_);  // (B, T, C)
    return linear(mixed, first + kAttentionProjectionWeight, name + ".c_proj");
  }

  at::Tensor perceptron(const at::Tensor& x, std::size_t first, const std::string& name) {
    const at::Tensor hidden = linear(x, first + kFcWeight, name + ".c_fc");  // (B, T, 4 C)
    const at::Tensor active = tapped(gelu_of(hidden, name + ".gelu", step_), name + ".gelu");
    return linear(active, first + kFcProjectionWeight, name + ".c_proj");
  }

  // `weight` is the place of a weight; its bias comes next.
  at::Tensor linear(const at::Tensor& x, std::size_t weight, const std::string& name) {
    return tapped(at::linear(x, step_.parameter(weight), step_.parameter(weight + 1)), name);
  }

  at::Tensor layer_norm(const at::Tensor& x, std::size_t weight, const std::string& name) {
    return tapped(at::layer_norm(input_of_norm(x, name, step_), {size_.width}, step_.parameter(weight),
                                 step_.parameter(weight + 1), epsilon_of_norm(kLayerNormEpsilon, name, step_)),
                  name);
  }

  at::Tensor tapped(at::Tensor value, const std::string& name) {
    step_.tap(value, name);
    return value;
  }

  const Decoder& size_;
  StepContext& step_;
  at::Tensor future_;  // (T, T) bool: true where a position would look ahead
};

// As `transformers` writes GPT2Model and GPT2LMHeadModel: its Conv1D keeps (in, out), older files its causal masks.
constexpr std::string_view kTransposed[] = {".c_attn.weight", ".c_proj.weight", ".c_fc.weight"};
constexpr std::string_view kMasks[] = {".attn.bias", ".attn.masked_bias"};
constexpr PublishedNaming::Copy kCopies[] = {{"lm_head.weight", "wte.weight"}};
constexpr PublishedNaming kNaming{.by = "Hugging Face GPT-2",
                                  .prefix = "transformer.",
                                  .transposed = kTransposed,
                                  .constants = kMasks,
                                  .copies = kCopies};

class Gpt2 final : public Model {
 public:
  std::string_view name() const override { return "gpt2"; }
  std::string_view summary() const override {
    return "GPT-2 decoder (tiny: 4 layers of 128; 124m: 12 of 768), LayerNorm, causal attention, GELU, English verse "
           "by bytes";
  }
  std::span<const ModelPreset> presets() const override { return kDecoderPresets; }
  std::string_view dataset() const override { return "text"; }
  std::vector<const Knob*> knobs() const override { return {&knob_for<&Settings::gelu>()}; }

  // Scales as published: 0.02, and what is added to the residual stream divided by the root of how often that happens.
  std::vector<ParameterSpec> parameters(const ModelPreset& preset) const override {
    const auto& [_, layers, width, heads, vocabulary] = decoder_of(preset);
    const auto residual_scale = static_cast<float>(0.02 / std::sqrt(2.0 * static_cast<double>(layers)));
    std::vector<ParameterSpec> list{{"wte.weight", {vocabulary, width}, kInitScale},
                                    {"wpe.weight", {preset.context_length, width}, kInitScale}};
    const auto add_layer_norm = [&](const std::string& name) {
      list.push_back({name + ".weight", {width}, 0, 1});
      list.push_back({name + ".bias", {width}});
    };
    const auto add_linear = [&](const std::string& name, std::int64_t out, std::int64_t in, float scale) {
      list.push_back({name + ".weight", {out, in}, scale});
      list.push_back({name + ".bias", {out}});
    };
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const std::string block = "h." + std::to_string(layer);
      add_layer_norm(block + ".ln_1");
      add_linear(block + ".attn.c_attn", 3 * width, width, kInitScale);
      add_linear(block + ".attn.c_proj", width, width, residual_scale);
      add_layer_norm(block + ".ln_2");
      add_linear(block + ".mlp.c_fc", 4 * width, width, kInitScale);
      add_linear(block + ".mlp.c_proj", width, 4 * width, residual_scale);
    }
    add_layer_norm("ln_f");
    return list;
  }

  PublishedNaming published_naming() const override { return kNaming; }

  std::int64_t flops_per_step(const ModelPreset& preset, std::int64_t batch_size) const override {
    const Decoder& size = decoder_of(preset);
    const std::int64_t weights = 12 * size.layers * size.width * size.width + size.vocabulary * size.width;
    const std::int64_t per_token = 6 * weights + 12 * size.layers * size.width * preset.context_length;
    return batch_size * preset.context_length * per_token;
  }

  // The calls of Gpt2Pass, as the layers that other transformers have.
  ActivationTape activations(const ModelPreset& preset, std::int64_t batch_size) const override {
    const auto& [_, layers, width, heads, vocabulary] = decoder_of(preset);
    Declaration pass(batch_size);
    const auto dense = [&](const Extent& x, std::int64_t out) {
      return pass.linear(x, "", {.out = out, .bias = true});
    };
    const Extent rows = pass.parameter({"", {vocabulary, width}});
    Extent x = pass.embedding(pass.field("input", {preset.context_length}), rows, "");
    x = pass.shown(pass.add(x, pass.parameter({"", {preset.context_length, width}})), "");
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      x = pass.block({x}, [&](const std::vector<Extent>& in) {
        Extent part = dense(pass.layer_norm(in[0], ""), 3 * width);
        part.shape.back() = width;
        const Extent attended =
            pass.add(in[0], dense(pass.attention(part, part, part, "", {heads, heads, /*causal=*/true}), width));
        const Extent out =
            pass.add(attended, dense(pass.gelu(dense(pass.layer_norm(attended, ""), 4 * width), ""), width));
        return pass.shown(out, "");
      });
    }
    const Extent logits = pass.product(pass.layer_norm(x, ""), rows, "");
    return with_cross_entropy(std::move(pass.tape), logits.id, logits.elements());
  }

  Outputs forward(const Batch& batch, StepContext& step) const override {
    const auto pass = std::make_shared<Gpt2Pass>(decoder_of(step.preset()), step);
    step.keep(pass);
    return {pass->logits(batch.field("input"))};
  }

  at::Tensor loss(const Outputs& outputs, const Batch& batch) const override { return token_loss(outputs, batch); }
};

}  // namespace

const Model& instance();
const Model& instance() {
  static const Gpt2 kModel;
  return kModel;
}

}  // namespace reprobench::model::gpt2
