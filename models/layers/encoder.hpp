// Encoders as CLIP has them (Radford et al. 2021): blocks of attention and a perceptron with a LayerNorm before each,
// and an image as a sequence of its squares (Dosovitskiy et al. 2021, "ViT"). They are written over `Layers`, which is
// Declaration or Pass. B: batch, T and S: positions, C: width.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/layers/declaration.hpp"

namespace reprobench {

enum class Activation { gelu, quick_gelu };

struct EncoderSize {
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t hidden = 0;  // of the perceptron
  Activation activation = Activation::gelu;
  bool causal = false;
  float init_scale = kWeightScale;
};

// Queries from x (B, T, C), keys and values from `seen` (B, S, C') -> (B, T, C)
template <class Layers, class Value>
Value attention_to(Layers& layers, const Value& x, const Value& seen, const std::string& name,
                   const EncoderSize& size) {
  const Linear linear{.out = size.width, .bias = true, .init_scale = size.init_scale};
  const Value query = layers.linear(x, name + ".q_proj", linear);
  const Value key = layers.linear(seen, name + ".k_proj", linear);
  const Value value = layers.linear(seen, name + ".v_proj", linear);
  const Value mixed = layers.attention(query, key, value, name, {size.heads, size.heads, size.causal});
  return layers.linear(mixed, name + ".out_proj", linear);
}

template <class Layers, class Value>
Value perceptron(Layers& layers, const Value& x, const std::string& name, const EncoderSize& size) {
  const Value hidden =
      layers.linear(x, name + ".fc1", {.out = size.hidden, .bias = true, .init_scale = size.init_scale});
  const Value active = size.activation == Activation::gelu ? layers.gelu(hidden, name + ".gelu")
                                                           : layers.quick_gelu(hidden, name + ".quick_gelu");
  return layers.linear(active, name + ".fc2", {.out = size.width, .bias = true, .init_scale = size.init_scale});
}

// (B, T, C) -> (B, T, C)
template <class Layers, class Value>
Value encoder_block(Layers& layers, Value x, const std::string& name, const EncoderSize& size) {
  Value normal = layers.layer_norm(x, name + ".layer_norm1");
  x = layers.add(x, attention_to(layers, normal, normal, name + ".self_attn", size));
  normal = layers.layer_norm(x, name + ".layer_norm2");
  return layers.shown(layers.add(x, perceptron(layers, normal, name + ".mlp", size)), name);
}

// (B, T, C) -> (B, T, C). `size` outlives the layers.
template <class Layers, class Value>
Value encoder(Layers& layers, Value x, const std::string& name, const EncoderSize& size) {
  for (std::int64_t layer = 0; layer < size.layers; ++layer) {
    x = layers.block({x}, [&layers, &size, block = name + ".layers." + std::to_string(layer)](
                              const std::vector<Value>& in) { return encoder_block(layers, in[0], block, size); });
  }
  return x;
}

// Adds learnt positions to x (B, T, C).
template <class Layers, class Value>
Value with_positions(Layers& layers, const Value& x, const std::string& name, std::int64_t positions,
                     std::int64_t width) {
  return layers.add(x, layers.parameter({name + ".weight", {positions, width}, kWeightScale}));
}

// tokens (B, T) -> (B, T, C); `rows` are the table's (V, C).
template <class Layers, class Value>
Value embedded_text(Layers& layers, const Value& tokens, const Value& rows, const std::string& name,
                    std::int64_t context, std::int64_t width) {
  return with_positions(layers, layers.embedding(tokens, rows, name + ".token_embedding"), name + ".position_embedding",
                        context, width);
}

inline std::int64_t squares_of(std::int64_t image_side, std::int64_t patch_side) {
  return (image_side / patch_side) * (image_side / patch_side);
}

}  // namespace reprobench
