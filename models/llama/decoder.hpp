// The LLaMA decoder (Touvron et al. 2023; Grattafiori et al. 2024): RMSNorm before attention with rotary positions and
// before a SwiGLU perceptron, heads of keys and values shared by several query heads, no biases. It is written over
// `Layers`, which is Declaration or Pass; other models end in it.
//
// LoRA (Hu et al. 2021): the weights are frozen, and alpha / rank * B A x is added to the products W x of the target
// modules. A (rank, in) and B (out, rank) are trained. B begins at zero, so the first step is that of the base model.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/layers/declaration.hpp"
#include "models/layers/rotary.hpp"

namespace reprobench {

struct Lora {
  std::int64_t rank = 0;  // 0: no LoRA, every weight is trained
  double alpha = 0;
  std::string_view targets = {};   // " q_proj v_proj ", each between blanks
  bool trains_vocabulary = false;  // all of the embedding and the output projection, as `modules_to_save`

  bool adapts(std::string_view module) const {
    return rank > 0 && targets.find(" " + std::string(module) + " ") != std::string_view::npos;
  }
};

struct LlamaSize {
  std::int64_t layers = 0;
  std::int64_t width = 0;  // C
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t hidden = 0;  // of the perceptron, F
  std::int64_t vocabulary = 0;
  bool ties_embedding = false;  // the output projection is the embedding
  double rotary_base = 10'000;
  RotaryScaling scaling = {};
  Lora lora = {};

  bool freezes_blocks() const { return lora.rank > 0; }
  bool freezes_vocabulary() const { return freezes_blocks() && !lora.trains_vocabulary; }
};

template <class Layers>
class LlamaDecoder {
 public:
  using Value = typename Layers::Value;

  // `prefix` comes before every name, for a decoder that is part of another model.
  LlamaDecoder(Layers& layers, const LlamaSize& size, std::string prefix = "")
      : layers_(layers), size_(size), prefix_(std::move(prefix)) {}

  // (B, T) int64 -> (B, T, C)
  Value embed(const Value& tokens) {
    embedding_ = layers_.parameter({prefix_ + "model.embed_tokens.weight",
                                    {size_.vocabulary, size_.width},
                                    kWeightScale,
                                    0,
                                    size_.freezes_vocabulary()});
    return layers_.embedding(tokens, embedding_, prefix_ + "model.embed_tokens");
  }

  // (B, T, C) -> (B, T, C), normalized. T <= positions.
  Value blocks(Value x, std::int64_t positions) {
    const std::int64_t head_width = size_.width / size_.heads;
    const Rotary rotary{head_width, size_.rotary_base, size_.scaling};
    const std::vector<std::int64_t> shape = {positions, head_width / 2};
    cosines_ = layers_.table("rotary.cos", shape, [&] { return rotary_tables(rotary, positions).cosines; });
    sines_ = layers_.table("rotary.sin", shape, [&] { return rotary_tables(rotary, positions).sines; });
    for (std::int64_t layer = 0; layer < size_.layers; ++layer) {
      x = layers_.block({x}, [this, name = prefix_ + "model.layers." + std::to_string(layer)](
                                 const std::vector<Value>& in) { return block(in[0], name); });
    }
    return layers_.rms_norm(x, prefix_ + "model.norm", size_.freezes_blocks());
  }

  // (B, T, C) -> (B, T, V)
  Value logits(const Value& x) {
    const Value scores =
        size_.ties_embedding
            ? layers_.product(x, embedding_, prefix_ + "lm_head")
            : layers_.linear(x, prefix_ + "lm_head", {.out = size_.vocabulary, .frozen = size_.freezes_vocabulary()});
    layers_.choice(scores, "predicted_token");
    return scores;
  }

 private:
  Value block(const Value& input, const std::string& name) {
    Value x = layers_.rms_norm(input, name + ".input_layernorm", size_.freezes_blocks());
    const Value attended = layers_.add(input, attention(x, name + ".self_attn"));
    x = layers_.rms_norm(attended, name + ".post_attention_layernorm", size_.freezes_blocks());
    return layers_.shown(layers_.add(attended, perceptron(x, name + ".mlp")), name);
  }

  Value attention(const Value& x, const std::string& name) {
    const std::int64_t kv_width = size_.width / size_.heads * size_.kv_heads;
    const Value query = linear(x, name, "q_proj", size_.width, size_.width);  // (B, T, C)
    const Value key = linear(x, name, "k_proj", size_.width, kv_width);       // (B, T, K D)
    const Value value = linear(x, name, "v_proj", size_.width, kv_width);
    const Value mixed = layers_.attention(layers_.rotate(query, cosines_, sines_, size_.heads),
                                          layers_.rotate(key, cosines_, sines_, size_.kv_heads), value, name,
                                          {size_.heads, size_.kv_heads, /*causal=*/true});
    return linear(mixed, name, "o_proj", size_.width, size_.width);
  }

  Value perceptron(const Value& x, const std::string& name) {
    const Value gate =
        layers_.silu(linear(x, name, "gate_proj", size_.width, size_.hidden), name + ".act_fn");  // (B, T, F)
    const Value up = linear(x, name, "up_proj", size_.width, size_.hidden);                       // (B, T, F)
    return linear(layers_.multiply(gate, up), name, "down_proj", size_.hidden, size_.width);
  }

  Value linear(const Value& x, const std::string& parent, const char* module, std::int64_t in, std::int64_t out) {
    const std::string name = parent + "." + module;
    const Value base = layers_.linear(x, name, {.out = out, .frozen = size_.freezes_blocks()});
    if (!size_.lora.adapts(module)) return base;
    // A is drawn as in its authors' library, with variance 1 / (3 in).
    const auto scale = static_cast<float>(std::sqrt(1 / (3 * static_cast<double>(in))));
    const Value low = layers_.linear(x, name + ".lora_A", {.out = size_.lora.rank, .init_scale = scale});
    const Value high = layers_.linear(low, name + ".lora_B", {.out = out, .init_scale = 0});
    return layers_.shown(layers_.add(base, high, size_.lora.alpha / static_cast<double>(size_.lora.rank)),
                         name + ".adapted");
  }

  Layers& layers_;
  const LlamaSize& size_;
  std::string prefix_;
  Value embedding_;  // (V, C)
  Value cosines_;    // (positions, D / 2)
  Value sines_;
};

}  // namespace reprobench
