// A data set whose fields are computed when they are asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "models/data_set.hpp"

namespace reprobench {

// `real` or `whole`, by the field's type, gives a sample's elements, row-major.
struct SceneField {
  FieldSpec spec;
  std::function<void(std::int64_t sample, std::span<float> to)> real = {};
  std::function<std::vector<std::int64_t>(std::int64_t sample)> whole = {};
};

// A data set of `count` samples with these fields. Its digest covers every field of every sample.
std::unique_ptr<DataSet> scene_samples(std::int64_t count, std::vector<SceneField> fields);

}  // namespace reprobench
