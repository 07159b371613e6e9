#include "suites/worker/record/published_file.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "models/initial_values.hpp"

namespace reprobench {
namespace {

at::Tensor known_values(const std::string& name, const std::vector<std::int64_t>& shape, float mean = 0) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  const auto values =
      initial_values(/*seed=*/4711, name, static_cast<std::size_t>(tensor.numel()), 0.0625F, mean + 0.0078125F);
  std::copy(values.begin(), values.end(), static_cast<float*>(tensor.data_ptr()));
  return name.ends_with(".running_var") ? tensor.abs() : tensor;
}

}  // namespace

bool is_adapter(const std::string& name) { return name.find(".lora_") != std::string::npos; }

NamedTensors known_weights(const Model& model, const ModelPreset& preset) {
  NamedTensors tensors;
  for (const ParameterSpec& spec : model.parameters(preset)) {
    if (!is_adapter(spec.name)) tensors.emplace_back(spec.name, known_values(spec.name, spec.shape, spec.init_mean));
  }
  for (const BufferSpec& spec : model.buffers(preset)) {
    if (!spec.name.starts_with("rotary.")) tensors.emplace_back(spec.name, known_values(spec.name, spec.shape));
  }
  return tensors;
}

// transformers' GPT-2 keeps its linear weights as (in, out).
NamedTensors as_published(const Model& model, const NamedTensors& ours, std::string_view gpt2_prefix) {
  NamedTensors theirs;
  for (const auto& [name, tensor] : ours) {
    const bool is_conv1d = model.name() == "gpt2" && tensor.dim() == 2 && name.starts_with("h.");
    theirs.emplace_back((model.name() == "gpt2" ? std::string(gpt2_prefix) : "") + name,
                        is_conv1d ? tensor.t().contiguous() : tensor);
  }
  return theirs;
}

}  // namespace reprobench
