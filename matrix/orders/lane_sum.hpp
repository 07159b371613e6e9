// The sum of a row in the lanes of a vector, as most loops of ATen add it (ATen/cpu/vec/functional_base.h, in every
// wheel).
//
// Lane i takes terms i, i + lanes, i + 2 lanes and so on. Then the lanes meet by halves, or one after the other where
// ATen has no instructions that move them. A row shorter than a vector is added one term after the other.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/orders/rounding.hpp"

namespace reprobench {

struct LaneForm {
  int lanes = 8;
  bool in_turn = false;     // lanes meet one after the other
  bool fused = false;       // a product joins its lane unrounded, in whole vectors
  bool rest_fused = false;  // the same behind the last whole vector

  friend bool operator==(const LaneForm&, const LaneForm&) = default;
};

// The lanes' sums, which the function takes for itself.
float sum_of_lanes(std::span<float> lanes, bool in_turn);

// The sum of left(i) x right(i) for i below `size`; the first product of a lane has nothing to be fused onto.
template <typename Left, typename Right>
float lane_sum_of_products(std::size_t size, const LaneForm& form, Left&& left, Right&& right) {
  const auto lanes = static_cast<std::size_t>(form.lanes);
  const std::size_t whole = size / lanes * lanes;
  if (whole == 0) {
    float sum = size == 0 ? 0 : left(0) * right(0);
    for (std::size_t i = 1; i < size; ++i) sum += left(i) * right(i);
    return sum;
  }
  std::vector<float> sums(lanes);
  for (std::size_t i = 0; i < size; ++i) {
    float& lane = sums[i % lanes];
    lane = i < lanes ? left(i) * right(i)
                     : multiply_add(i < whole ? form.fused : form.rest_fused, left(i), right(i), lane);
  }
  return sum_of_lanes(sums, form.in_turn);
}

float lane_sum(std::span<const float> terms, const LaneForm& form);

// "lanes=16", "lanes=8 in turn"; with products also "sums=fr".
std::string lane_text(const LaneForm& form, bool of_products);
// For people: "16 lanes, fused", "8 lanes in turn".
std::string lane_shape(const LaneForm& form, bool of_products);

// All that ATen can have, in the same order on every stack.
std::vector<LaneForm> lane_forms(bool of_products);

}  // namespace reprobench
