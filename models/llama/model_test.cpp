#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench::model::llama {
const Model& instance();

namespace {

const ModelPreset& preset_called(std::string_view name) {
  for (const ModelPreset& preset : instance().presets()) {
    if (preset.name == name) return preset;
  }
  throw std::logic_error("llama lost a preset");
}

std::int64_t elements_of(const ParameterSpec& parameter) {
  return std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>());
}

struct Elements {
  std::int64_t all = 0;
  std::int64_t trained = 0;
};

Elements elements_of(std::string_view preset) {
  Elements sum;
  for (const ParameterSpec& parameter : instance().parameters(preset_called(preset))) {
    sum.all += elements_of(parameter);
    sum.trained += parameter.frozen ? 0 : elements_of(parameter);
  }
  return sum;
}

TEST_CASE("llama presets have the published parameters, and every preset as many as it says", "[models]") {
  CHECK(elements_of("15m").all == 15'191'712);        // stories15M of llama2.c
  CHECK(elements_of("1.1b").all == 1'100'048'384);    // TinyLlama
  CHECK(elements_of("2-7b").all == 6'738'415'616);    // LLaMA 2 7B
  CHECK(elements_of("3.1-8b").all == 8'030'261'248);  // LLaMA 3.1 8B
  for (const ModelPreset& preset : instance().presets()) {
    INFO(preset.name);
    CHECK(elements_of(preset.name).all == preset.parameters);
    if (preset.name.find("lora") == std::string_view::npos)
      CHECK(elements_of(preset.name).trained == preset.parameters);
  }
}

TEST_CASE("LoRA trains what its authors' library counts: 4,194,304 of 6,742,609,920 with rank 8 on q and v",
          "[models]") {
  CHECK(elements_of("2-7b-lora").all == 6'742'609'920);
  CHECK(elements_of("2-7b-lora").trained == 4'194'304);
  CHECK(elements_of("3.1-8b-lora").trained == 41'943'040);
  for (const ParameterSpec& parameter : instance().parameters(preset_called("2-7b-lora"))) {
    INFO(parameter.name);
    const bool is_adapter = parameter.name.find(".lora_") != std::string::npos;
    CHECK(parameter.frozen == !is_adapter);
    if (!is_adapter) continue;
    const bool is_a = parameter.name.ends_with("proj.lora_A.weight");
    CHECK((is_a || parameter.name.ends_with("proj.lora_B.weight")));
    CHECK(parameter.shape[is_a ? 0 : 1] == 8);
    CHECK((parameter.init_scale > 0) == is_a);
  }
}

TEST_CASE("names and shapes of llama's parameters are the published checkpoints'", "[models]") {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const ParameterSpec& parameter : instance().parameters(preset_called("3.1-8b"))) {
    CHECK(shapes.emplace(parameter.name, parameter.shape).second);
  }
  using Shape = std::vector<std::int64_t>;
  CHECK(shapes.size() == 1 + 32 * 9 + 2);
  CHECK((shapes.at("model.embed_tokens.weight") == Shape{128'256, 4096}));
  CHECK((shapes.at("model.layers.31.self_attn.q_proj.weight") == Shape{4096, 4096}));
  CHECK((shapes.at("model.layers.31.self_attn.k_proj.weight") == Shape{1024, 4096}));
  CHECK((shapes.at("model.layers.0.self_attn.o_proj.weight") == Shape{4096, 4096}));
  CHECK((shapes.at("model.layers.0.mlp.gate_proj.weight") == Shape{14'336, 4096}));
  CHECK((shapes.at("model.layers.0.mlp.down_proj.weight") == Shape{4096, 14'336}));
  CHECK((shapes.at("model.layers.0.input_layernorm.weight") == Shape{4096}));
  CHECK((shapes.at("model.layers.0.post_attention_layernorm.weight") == Shape{4096}));
  CHECK((shapes.at("model.norm.weight") == Shape{4096}));
  CHECK((shapes.at("lm_head.weight") == Shape{128'256, 4096}));
  for (const ParameterSpec& parameter : instance().parameters(preset_called("15m"))) {
    CHECK(parameter.name != "lm_head.weight");  // tied
  }
}

TEST_CASE("the FLOPs of a llama step are 6 N + 12 L H Q T a token, N without the embedding unless it is tied",
          "[models]") {
  const auto flops = [](std::string_view preset) { return instance().flops_per_step(preset_called(preset), 1); };
  // 2-7b: N = 6,738,415,616 less the embedding, 32,000 x 4096, and the 65 norms of 4096.
  const std::int64_t weights_7b = 6'738'415'616LL - 32'000LL * 4096 - 65LL * 4096;
  CHECK(flops("2-7b") == 4096 * (6 * weights_7b + 12LL * 32 * 4096 * 4096));
  // 15m, tied: N less 13 norms of 288.
  CHECK(flops("15m") == 256 * (6 * (15'191'712LL - 13 * 288) + 12LL * 6 * 288 * 256));
  // Fewer key and value heads save weights and no product with the scores.
  const std::int64_t weights_8b = 8'030'261'248LL - 128'256LL * 4096 - 65LL * 4096;
  CHECK(flops("3.1-8b") == 8192 * (6 * weights_8b + 12LL * 32 * 4096 * 8192));
  CHECK(instance().flops_per_step(preset_called("tiny"), 8) == 8 * flops("tiny"));
}

TEST_CASE("LoRA saves the products of the frozen weights' gradients and no others", "[models]") {
  // tiny-lora trains its embedding, so every frozen product has two terms instead of three: 4 N.
  const std::int64_t per_layer = 2 * 64LL * 64 + 2 * 64LL * 32 + 3 * 64LL * 176;
  const std::int64_t adapters = 4LL * (2 * (64 + 64) + 2 * (64 + 32) + 3 * (64 + 176));
  const std::int64_t head = 64LL * 260;
  const std::int64_t per_token = 2 * (4 * per_layer + 6 * adapters) + 6 * head + 12LL * 2 * 64 * 128;
  CHECK(instance().flops_per_step(preset_called("tiny-lora"), 1) == 128 * per_token);
  // 2-7b-lora: the input of the first layer has no gradient, nor have its keys.
  const auto full = instance().flops_per_step(preset_called("2-7b"), 1);
  const auto lora = instance().flops_per_step(preset_called("2-7b-lora"), 1);
  const std::int64_t weights = 32 * (4 * 4096LL * 4096 + 3 * 4096LL * 11'008) + 32'000LL * 4096;
  const std::int64_t adapters_7b = 4'194'304;
  const std::int64_t first_inputs = 3 * 4096LL * 4096 + 2 * 8LL * 4096;  // of q, k, v and both A
  CHECK(lora == full + 4096 * (-2 * weights + 6 * adapters_7b - 2 * first_inputs - 2LL * 4096 * 4096));
}

TEST_CASE("llama's tables of angles are buffers, one pair for all layers", "[models]") {
  const auto buffers = instance().buffers(preset_called("tiny"));
  REQUIRE(buffers.size() == 2);
  CHECK(buffers[0].name == "rotary.cos");
  CHECK(buffers[1].name == "rotary.sin");
  for (const BufferSpec& buffer : buffers) {
    CHECK(buffer.shape == std::vector<std::int64_t>{128, 8});
    CHECK(buffer.values.size() == 128 * 8);
  }
}

}  // namespace
}  // namespace reprobench::model::llama
