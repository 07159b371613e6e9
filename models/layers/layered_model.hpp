// A model whose network is written once, as a class over `Declaration` or `Pass`:
//
//   struct Preset { ModelPreset preset; std::int64_t width; };
//   constexpr Preset kPresetTable[] = {{{"tiny", ...}, 64}, ...};
//   template <class Layers> class Net {
//    public:
//     Net(Layers& layers, const Preset& size);
//     typename Layers::Value logits();  // asks layers.field("input", {...}) for its input
//   };
//   class NetModel final : public LayeredModel<kPresetTable, Net> { name, summary, dataset, knobs };
//
// Parameters, buffers, operations of a step and the forward pass all follow from it, so none can disagree. The file
// that instantiates it includes at::Tensor first.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "models/layers/declaration.hpp"
#include "models/layers/pass.hpp"
#include "models/layers/token_loss.hpp"
#include "models/model_spec.hpp"

namespace reprobench {

template <const auto& kPresetTable, template <class> class Network>
class LayeredModel : public Model {
 public:
  std::span<const ModelPreset> presets() const final { return kPresets; }
  std::vector<ParameterSpec> parameters(const ModelPreset& preset) const final {
    return declared(preset, 1).parameters;
  }
  std::vector<BufferSpec> buffers(const ModelPreset& preset) const final { return declared(preset, 1).buffers; }
  std::int64_t flops_per_step(const ModelPreset& preset, std::int64_t batch_size) const final {
    return declared(preset, batch_size).flops();
  }

  ActivationTape activations(const ModelPreset& preset, std::int64_t batch_size) const final {
    Declaration declaration(batch_size);
    const Extent logits = Network<Declaration>(declaration, row_of(preset)).logits();
    return with_cross_entropy(std::move(declaration.tape), logits.id, logits.elements());
  }

  Outputs forward(const Batch& batch, StepContext& step) const final {
    struct Whole {
      Whole(const Batch& batch, StepContext& step) : pass(batch, step), network(pass, row_of(step.preset())) {}
      Pass pass;
      Network<Pass> network;
    };
    const auto whole = std::make_shared<Whole>(batch, step);
    step.keep(whole);
    return {whole->network.logits()};
  }

  at::Tensor loss(const Outputs& outputs, const Batch& batch) const override { return token_loss(outputs, batch); }

 private:
  static constexpr auto kPresets = [] {
    std::array<ModelPreset, std::size(kPresetTable)> presets;
    std::ranges::transform(kPresetTable, presets.begin(), [](const auto& row) { return row.preset; });
    return presets;
  }();

  static const auto& row_of(const ModelPreset& preset) {
    return *std::ranges::find(kPresetTable, preset.name, [](const auto& row) { return row.preset.name; });
  }

  static Declaration declared(const ModelPreset& preset, std::int64_t batch_size) {
    Declaration declaration(batch_size);
    Network<Declaration>(declaration, row_of(preset)).logits();
    return declaration;
  }
};

}  // namespace reprobench
