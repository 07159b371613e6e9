// For tests: a model that behaves like another one; a test overrides the part that it changes or watches. Include
// <ATen/core/Tensor.h> before this header.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/model_spec.hpp"

namespace reprobench {

class WrappedModel : public Model {
 public:
  // `model` outlives this.
  explicit WrappedModel(const Model& model) : model_(&model) {}

  std::string_view name() const override { return model_->name(); }
  std::string_view summary() const override { return model_->summary(); }
  std::span<const ModelPreset> presets() const override { return model_->presets(); }
  std::string_view dataset() const override { return model_->dataset(); }
  std::vector<ParameterSpec> parameters(const ModelPreset& preset) const override { return model_->parameters(preset); }
  std::vector<BufferSpec> buffers(const ModelPreset& preset) const override { return model_->buffers(preset); }
  std::int64_t flops_per_step(const ModelPreset& preset, std::int64_t batch_size) const override {
    return model_->flops_per_step(preset, batch_size);
  }
  Outputs forward(const Batch& batch, StepContext& step) const override { return model_->forward(batch, step); }
  at::Tensor loss(const Outputs& outputs, const Batch& batch) const override { return model_->loss(outputs, batch); }

 private:
  const Model* model_;
};

}  // namespace reprobench
