// Pieces that the documents about differing tensors share.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "kernels/diff/diff.hpp"

namespace reprobench {

// {"index", "measured": {"value", "bits"}, "reference": {...}, "ulp"}, or null. `dtype` is the safetensors name; the
// value of a type unknown here is null.
nlohmann::json element_pair_json(std::string_view dtype, const std::optional<ElementPair>& pair);

// Counts up to the last bucket that is not empty: 0 ULP, 1, 2-3, 4-7, ...
nlohmann::json ulp_histogram_json(const std::array<std::int64_t, kUlpBuckets>& histogram);

}  // namespace reprobench
