// The weights of a training in one file, whatever ranks share out of them: gathered, rounded to 16 bits and under the
// names their publishers use (weight_names.hpp), so that `--weights` and the public tools read them. The counterpart of
// DeepSpeed's `stage3_gather_16bit_weights_on_model_save`. Every layout with the same bits writes the same file: there
// is nothing in it but names, shapes and elements.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "models/model_spec.hpp"
#include "suites/worker/record/tensor_file.hpp"

namespace reprobench {

enum class HalfType { bf16, fp16 };

// By the knob `gathered_weights`; nothing for "none". Throws RunFailure "unsupported" for a model with adapters, which
// no published file has a place for.
std::optional<HalfType> gathered_type_of(const Model& model, const ModelPreset& preset, GatheredWeights asked);

// `whole`: the state's tensors by our names, on the host, with all parameters and buffers among them. Each element is
// the nearest of that type, ties to even. Returns the file's SHA-256. Throws RunFailure "unsupported" for an element
// that is beyond the type's range, and what tensor_file.hpp throws.
std::string write_gathered_weights(const std::filesystem::path& path, const NamedTensors& whole, HalfType type,
                                   const Model& model, const ModelPreset& preset);

}  // namespace reprobench
