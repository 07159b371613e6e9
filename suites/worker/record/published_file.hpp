// For tests: files of weights as their publishers write them, made without the tables by which they are read.
#pragma once

#include <string>
#include <string_view>

#include "models/model_spec.hpp"
#include "suites/worker/record/tensor_file.hpp"

namespace reprobench {

bool is_adapter(const std::string& name);

// The tensors that a published file of that preset would have, by our names. No training begins with these values by
// itself, and every call gives the same ones.
NamedTensors known_weights(const Model& model, const ModelPreset& preset);

// The same tensors by the publishers' names, transposed where publishers keep them so.
NamedTensors as_published(const Model& model, const NamedTensors& ours, std::string_view gpt2_prefix = "");

}  // namespace reprobench
