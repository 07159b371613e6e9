// The form of a histogram of distances in ULP in documents.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/diff/diff.hpp"
#include "matrix/contract/document/description.hpp"

namespace reprobench {

inline constexpr Rule kUlpHistogramRule =
    rule::up_to(kUlpBuckets, 0)
        .says("Elements finite on both sides by distance: 0 ULP, 1, 2-3, 4-7, ... up to the last that is not empty.");

// The buckets up to the last one that is not empty.
inline std::vector<std::int64_t> used_buckets(const std::array<std::int64_t, kUlpBuckets>& histogram) {
  std::size_t used = histogram.size();
  while (used > 0 && histogram[used - 1] == 0) --used;
  return {histogram.begin(), histogram.begin() + static_cast<std::ptrdiff_t>(used)};
}

}  // namespace reprobench
