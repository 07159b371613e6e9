// LLaMA-style decoders and their instruction tuning, of all weights or by LoRA (decoder.hpp). `15m` is stories15M of
// llama2.c, `1.1b` is TinyLlama, `2-7b` and `3.1-8b` are LLaMA 2 7B and LLaMA 3.1 8B; `124m` has the sizes of GPT-2
// with these blocks; `tiny` trains in seconds on one core. All read records of an instruction and its response byte by
// byte.
//
// Names are those of the checkpoints as Hugging Face publishes them; weights are (out, in), as at::linear takes them.
#include <ATen/core/Tensor.h>

#include "models/layers/layered_model.hpp"
#include "models/llama/decoder.hpp"

namespace reprobench::model::llama {
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
                            .scaling = {.factor = 8}};

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

template <class Layers>
class Llama {
 public:
  Llama(Layers& layers, const Preset& size) : layers_(layers), size_(size), decoder_(layers, size.size) {}

  // (B, T, V)
  typename Layers::Value logits() {
    const std::int64_t length = size_.preset.context_length;
    return decoder_.logits(decoder_.blocks(decoder_.embed(layers_.field("input", {length})), length));
  }

 private:
  Layers& layers_;
  const Preset& size_;
  LlamaDecoder<Layers> decoder_;
};

// LlamaForCausalLM of `transformers`, whose q_proj and k_proj are already permuted for halves of a head that turn with
// each other, as ours do (layers/pass.hpp). Adapters are none of theirs.
constexpr std::string_view kAngles[] = {".rotary_emb.inv_freq"};
constexpr PublishedNaming::Copy kCopies[] = {{"lm_head.weight", "model.embed_tokens.weight"}};
constexpr std::string_view kAdapters[] = {".lora_A.", ".lora_B."};
constexpr PublishedNaming kNaming{
    .by = "Hugging Face LLaMA", .constants = kAngles, .copies = kCopies, .added = kAdapters};

class LlamaModel final : public LayeredModel<kPresetTable, Llama> {
 public:
  std::string_view name() const override { return "llama"; }
  std::string_view summary() const override {
    return "LLaMA decoder (tiny: 2 layers of 64; 15m to 3.1-8b as published), RMSNorm, rotary positions, grouped-query "
           "attention, SwiGLU, all weights or LoRA, instructions by bytes";
  }
  std::string_view dataset() const override { return "instructions"; }
  PublishedNaming published_naming() const override { return kNaming; }
};

}  // namespace

const Model& instance();
const Model& instance() {
  static const LlamaModel kModel;
  return kModel;
}

}  // namespace reprobench::model::llama
