// How a library computes the gradients of a layer norm, rounding by rounding. With y = ((x - mean) a) weight + bias,
// and a = 1 / sigma, ATen sums ds = sum dy x weight and db = sum dy weight over a row in vectors, and then computes
//
//   slope = (db mean - ds) a a a / N     shift = -slope mean - db a / N     dx = (a dy) weight + slope x + shift
//   dweight = sum over rows of dy (a x - a mean), each thread its own rows, then the threads' sums
//
// (layer_norm_backward_frame of ATen's CPU kernel). Releases differ in which products are fused with the addition that
// follows them. The gradient of the bias is a plain sum (sum_layout.hpp). An order is written as
//
//   dx lanes=8 sums=rrfr slope=f shift=m element=x
//   dweight threads=2 inner=f outer=f
//
// There r is rounded and f fused; m, s, x and d name the product that is fused. Lanes meet pairwise, or "in turn".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "matrix/orders/rounding.hpp"

namespace reprobench {

struct InputGradientForm {
  int lanes = 8;
  bool ds_fused = false;  // in whole vectors
  bool db_fused = false;
  bool rest_ds_fused = false;  // in a vector that is not full, or in a row shorter than one
  bool rest_db_fused = false;
  bool slope_fused = false;                   // db mean - ds
  FusedProduct shift = FusedProduct::none;    // slope mean; (db a) / N
  FusedProduct element = FusedProduct::none;  // slope x; (a dy) weight

  bool lanes_in_turn = false;  // else pairwise

  friend bool operator==(const InputGradientForm&, const InputGradientForm&) = default;
};

struct WeightGradientForm {
  int threads = 1;
  bool inner_fused = false;  // a x - a mean
  bool outer_fused = false;  // dy times that, to the sum

  friend bool operator==(const WeightGradientForm&, const WeightGradientForm&) = default;
};

// The inputs of the backward pass of one row.
struct NormRow {
  std::span<const float> x;
  std::span<const float> dy;
  std::span<const float> weight;
  float mean = 0;
  float inverse_sigma = 0;
};

// Computes the gradient of the whole row into `dx`, which has its size.
void input_gradient(const NormRow& row, const InputGradientForm& form, std::span<float> dx);

// The gradient of one element of the weight, over all rows.
float weight_gradient(std::span<const NormRow> rows, std::size_t at, const WeightGradientForm& form);

// Canonical: equal texts give equal bits of the same mean and 1 / sigma.
std::string gradient_text(const InputGradientForm& form);
std::string gradient_text(const WeightGradientForm& form);
// For people.
std::string gradient_shape(const InputGradientForm& form);
std::string gradient_shape(const WeightGradientForm& form);

// All forms, in the same order on every stack.
const std::vector<InputGradientForm>& input_gradient_forms();
const std::vector<WeightGradientForm>& weight_gradient_forms();

}  // namespace reprobench
