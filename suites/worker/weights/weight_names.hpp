// Which tensor of a user's file of weights is which of a model's, by the names their publishers use.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "matrix/base/safetensors.hpp"
#include "models/model_spec.hpp"

namespace reprobench {

// Where a tensor of a file goes.
struct WeightTarget {
  std::string name;                 // of the parameter or buffer
  std::vector<std::int64_t> shape;  // of it
  bool is_transposed = false;       // a matrix that the file keeps as (in, out)
};

struct WeightNames {
  std::map<std::string, WeightTarget> targets;  // by the name in the file; every parameter and buffer but `drawn`
  std::map<std::string, std::string> copies;    // names in the file of what must equal that parameter
  std::int64_t passed_over = 0;                 // constants, and those copies
  std::int64_t drawn = 0;                       // adapters
  // What is missing, what is too much, what has another shape or type: each a sentence. Empty: the file is this
  // preset's, all of it.
  std::vector<std::string> problems;
};

// Every tensor that a file of that preset's weights has, as match_weights() expects them, in the order of names; their
// name in such a file is the model's own. `drawn` of them are adapters, which no file has.
std::vector<WeightTarget> published_weights(const Model& model, const ModelPreset& preset, std::int64_t& drawn);

WeightNames match_weights(const Model& model, const ModelPreset& preset, std::span<const SafetensorsEntry> tensors);

// What a person is told of problems there are: whose weights they are not, and whose else among `all` they are, then
// the first problems and how many there are more.
std::vector<std::string> told_problems(const Model& model, const ModelPreset& preset,
                                       std::span<const SafetensorsEntry> tensors, std::span<const Model* const> all,
                                       const std::vector<std::string>& problems);

}  // namespace reprobench
