// For tests: files of weights as their publishers write them, made without the tables by which they are read.
#pragma once

#include <string>
#include <string_view>

#include "models/model_spec.hpp"
#include "suites/worker/record/tensor_file.hpp"

namespace reprobench {

bool is_adapter(const std::string& name);

// What a published file of that preset would have, by our names; values that no training begins with by itself, the
// same wherever they are asked for.
NamedTensors known_weights(const Model& model, const ModelPreset& preset);

// By the publishers' names, and turned as they keep them.
NamedTensors as_published(const Model& model, const NamedTensors& ours, std::string_view gpt2_prefix = "");

}  // namespace reprobench
