// Matches the tensors of a user's file of weights with those of a model, by the names their publishers use.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "matrix/base/safetensors.hpp"
#include "models/model_spec.hpp"

namespace reprobench {

// The destination of a tensor of a file.
struct WeightTarget {
  std::string name;                 // of the parameter or buffer
  std::vector<std::int64_t> shape;  // of the parameter or buffer
  bool is_transposed = false;       // a matrix that the file keeps as (in, out)
};

struct WeightNames {
  std::map<std::string, WeightTarget> targets;  // by the name in the file; every parameter and buffer but `drawn`
  std::map<std::string, std::string> copies;    // name in the file -> the parameter that it must equal
  std::int64_t passed_over = 0;                 // constants and copies in the file
  std::int64_t drawn = 0;                       // adapters, which begin as the model draws them
  // One sentence for each tensor that is missing, is too many, or has another shape or type. Empty: the file is this
  // preset's, and complete.
  std::vector<std::string> problems;
};

// Every tensor that a file of that preset's weights has, as match_weights() expects them, in the order of names. A
// tensor's name in such a file is the model's own. `drawn` of them are adapters, which no file has.
std::vector<WeightTarget> published_weights(const Model& model, const ModelPreset& preset, std::int64_t& drawn);

WeightNames match_weights(const Model& model, const ModelPreset& preset, std::span<const SafetensorsEntry> tensors);

// The problems in words for people: whose weights these are not, and whose among `all` they are instead; then the first
// problems, and how many more there are.
std::vector<std::string> told_problems(const Model& model, const ModelPreset& preset,
                                       std::span<const SafetensorsEntry> tensors, std::span<const Model* const> all,
                                       const std::vector<std::string>& problems);

}  // namespace reprobench
