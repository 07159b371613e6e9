// The weights of a training in one file, however they are sharded over ranks. They are gathered, rounded to 16 bits and
// named as their publishers do (weight_names.hpp), so that `--weights` and the public tools read them. It is the
// counterpart of DeepSpeed's `stage3_gather_16bit_weights_on_model_save`. Every layout with the same bits writes the
// same file: it holds nothing but names, shapes and elements.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "models/model_spec.hpp"
#include "suites/worker/record/tensor_file.hpp"

namespace reprobench {

enum class HalfType { bf16, fp16 };

// The type by the knob `gathered_weights`; nothing for "none". Throws RunFailure "unsupported" for a model with
// adapters, which no published file has a place for.
std::optional<HalfType> gathered_type_of(const Model& model, const ModelPreset& preset, GatheredWeights asked);

// `whole` has the state's tensors by our names, on the host, among them all parameters and buffers. Each element is
// rounded to the nearest of that type, ties to even. Returns the file's SHA-256. Throws RunFailure "unsupported" for an
// element that is beyond the type's range, and what tensor_file.hpp throws.
std::string write_gathered_weights(const std::filesystem::path& path, const NamedTensors& whole, HalfType type,
                                   const Model& model, const ModelPreset& preset);

}  // namespace reprobench
