// LLaMA-style decoders and their instruction tuning, of all weights or by LoRA (decoder.hpp). `15m` is stories15M of
// llama2.c, `1.1b` is TinyLlama, `2-7b` and `3.1-8b` are LLaMA 2 7B and LLaMA 3.1 8B; `124m` has the sizes of GPT-2
// with these blocks; `tiny` trains in seconds on one core. All read records of an instruction and its response byte by
// byte.
//
// Names are those of the checkpoints as Hugging Face publishes them; weights are (out, in), as at::linear takes them.
#include <algorithm>
#include <array>
#include <iterator>

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>

#include "models/layers/pass.hpp"
#include "models/llama/decoder.hpp"
#include "models/model_spec.hpp"

namespace reprobench {
namespace {

struct Preset {
  ModelPreset preset;
  LlamaSize size;
};

// Pre-training as Touvron et al. 2023, fine-tuning as Stanford Alpaca, LoRA as alpaca-lora.
constexpr AdamWSettings kPretraining{{.learning_rate = 3e-4, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-5}, 0.1};
constexpr AdamWSettings kFineTuning{{.learning_rate = 2e-5}, 0};
constexpr AdamWSettings kLoraTuning{{.learning_rate = 3e-4}, 0};
constexpr AdamWSettings kTinyTraining{{.learning_rate = 3e-3, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8}, 0.1};
constexpr WarmupCosine kTinyRate{5, 0.1};
constexpr WarmupCosine kRate{100, 0.1};

constexpr std::string_view kAttentionTargets = " q_proj v_proj ";
constexpr std::string_view kAllTargets = " q_proj k_proj v_proj o_proj gate_proj up_proj down_proj ";

constexpr LlamaSize kTiny{.layers = 2, .width = 64, .heads = 4, .kv_heads = 2, .hidden = 176, .vocabulary = 260};
constexpr LlamaSize k15m{
    .layers = 6, .width = 288, .heads = 6, .kv_heads = 6, .hidden = 768, .vocabulary = 32'000, .ties_embedding = true};
constexpr LlamaSize k124m{.layers = 12,
                          .width = 768,
                          .heads = 12,
                          .kv_heads = 12,
                          .hidden = 2048,
                          .vocabulary = 50'257,
                          .ties_embedding = true};
constexpr LlamaSize k1_1b{
    .layers = 22, .width = 2048, .heads = 32, .kv_heads = 4, .hidden = 5632, .vocabulary = 32'000};
constexpr LlamaSize k2_7b{
    .layers = 32, .width = 4096, .heads = 32, .kv_heads = 32, .hidden = 11'008, .vocabulary = 32'000};
constexpr LlamaSize k3_1_8b{.layers = 32,
                            .width = 4096,
                            .heads = 32,
                            .kv_heads = 8,
                            .hidden = 14'336,
                            .vocabulary = 128'256,
                            .rotary_base = 500'000,
                            .stretch = {.factor = 8}};

constexpr LlamaSize with(LlamaSize size, const Lora& lora) {
  size.lora = lora;
  return size;
}

// A base that nobody has trained can say nothing through adapters alone, so `tiny-lora` trains its vocabulary too.
constexpr Preset kPresetTable[] = {
    {{"tiny", 125'760, 4, kTinyTraining, 128, kTinyRate}, kTiny},
    {{"tiny-lora", 135'104, 4, kTinyTraining, 128, kTinyRate}, with(kTiny, {4, 8, kAllTargets, true})},
    {{"15m", 15'191'712, 8, kPretraining, 256, kRate}, k15m},
    {{"124m", 123'551'232, 4, kPretraining, 1024, kRate}, k124m},
    {{"1.1b", 1'100'048'384, 4, kFineTuning, 2048, kRate}, k1_1b},
    {{"2-7b", 6'738'415'616, 4, kFineTuning, 4096, kRate}, k2_7b},
    {{"2-7b-lora", 6'742'609'920, 4, kLoraTuning, 4096, kRate}, with(k2_7b, {8, 16, kAttentionTargets})},
    {{"3.1-8b", 8'030'261'248, 4, kFineTuning, 8192, kRate}, k3_1_8b},
    {{"3.1-8b-lora", 8'072'204'288, 4, kLoraTuning, 8192, kRate}, with(k3_1_8b, {16, 32, kAllTargets})}};

constexpr auto kPresets = [] {
  std::array<ModelPreset, std::size(kPresetTable)> presets;
  std::ranges::transform(kPresetTable, presets.begin(), &Preset::preset);
  return presets;
}();

const LlamaSize& size_of(const ModelPreset& preset) {
  return std::ranges::find(kPresetTable, preset.name, [](const Preset& row) { return row.preset.name; })->size;
}

// tokens (B, T) -> logits (B, T, V)
template <class Layers>
typename Layers::Value network(Layers& layers, const typename Layers::Value& tokens, const ModelPreset& preset) {
  LlamaDecoder<Layers> decoder(layers, size_of(preset));
  return decoder.logits(decoder.blocks(decoder.embed(tokens), preset.context_length));
}

Declaration declared(const ModelPreset& preset, std::int64_t batch_size) {
  Declaration declaration(batch_size);
  network(declaration, declaration.field({preset.context_length}), preset);
  return declaration;
}

class Llama final : public Model {
 public:
  std::string_view name() const override { return "llama"; }
  std::string_view summary() const override {
    return "LLaMA decoder (tiny: 2 layers of 64; 15m to 3.1-8b as published), RMSNorm, rotary positions, grouped-query "
           "attention, SwiGLU, all weights or LoRA, instructions by bytes";
  }
  std::span<const ModelPreset> presets() const override { return kPresets; }
  std::string_view dataset() const override { return "instructions"; }

  std::vector<ParameterSpec> parameters(const ModelPreset& preset) const override {
    return declared(preset, 1).parameters;
  }
  std::vector<BufferSpec> buffers(const ModelPreset& preset) const override { return declared(preset, 1).buffers; }
  std::int64_t flops_per_step(const ModelPreset& preset, std::int64_t batch_size) const override {
    return declared(preset, batch_size).flops();
  }

  Outputs forward(const Batch& batch, StepContext& step) const override {
    const at::Tensor& tokens = batch.field("input");
    Pass pass(step);
    return {network(pass, tokens, step.preset())};
  }

  // Over the response alone: the target of an instruction is the index that is ignored.
  at::Tensor loss(const Outputs& outputs, const Batch& batch) const override {
    return at::cross_entropy_loss(outputs.front().flatten(0, 1), batch.field("target").flatten());
  }
};

}  // namespace

const Model& llama_model();
const Model& llama_model() {
  static const Llama kModel;
  return kModel;
}

}  // namespace reprobench
