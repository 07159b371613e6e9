// How a library computes the mean and the variance of a row, rounding by rounding, and how a layer norm uses them.
//
// ATen updates a mean and a sum of squared deviations in every lane of a vector, by chunks of 16 vectors (Welford). It
// joins the chunks pairwise as in a binary counter, and adds the rest of the row in one scalar. Then it joins the lanes
// to that scalar one after the other (ATen/native/cpu/moments_utils.h, which every wheel has). The terms meet in the
// same order in all releases. They differ in the number of lanes, and in which products a compiler or a release fuses
// with the addition that follows: 2.9.0 fuses the product when two means are joined, 2.10.0 rounds it first.
//
//   welford lanes=8 mean=frf                          chunks fused, joins rounded, lanes fused: enough for the mean
//   welford lanes=8 mean=frf squares=fnrf root        and for 1 / sqrt(variance + eps)
//   welford lanes=8 mean=frf squares=fnrf centred=f   and for ((x - mean) / sigma) weight + bias
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace reprobench {

// m2 += m2' + delta^2 c m with its last product rounded or fused. In 2.10.0 it is (delta m)(c delta) added to m2 + m2',
// rounded or fused.
enum class SquaresJoin { rounded, fused, regrouped_rounded, regrouped_fused };

// Everything that decides the bits of a row's mean, and of its variance.
struct MomentsForm {
  int lanes = 8;
  bool update_mean_fused = false;  // m += c delta, in a chunk
  bool join_mean_fused = false;    // the same where two chunks meet
  bool lanes_mean_fused = false;   // the same where a lane meets the rest of the row
  bool update_squares_fused = false;
  SquaresJoin join_squares = SquaresJoin::rounded;
  bool rest_squares_fused = false;  // in the scalar that takes the rest of the row
  bool lanes_squares_fused = false;

  friend bool operator==(const MomentsForm&, const MomentsForm&) = default;
};

struct RowMoments {
  float mean = 0;
  float variance = 0;  // divided by the number of elements
};

RowMoments row_moments(std::span<const float> row, const MomentsForm& form);

// The outputs of a layer norm.
enum class NormOutput { mean, inverse_sigma, normalised };

// ((x - mean) / sigma) weight + bias, the last product fused or not. If shifted, the bracket is (x / sigma - mean /
// sigma), of which that product may be fused as well. As a number it is 0 to 5.
struct ScaleForm {
  bool is_shifted = false;
  bool shift_fused = false;
  bool bias_fused = false;

  friend bool operator==(const ScaleForm&, const ScaleForm&) = default;
};

struct NormForm {
  NormOutput output = NormOutput::mean;
  MomentsForm moments;
  ScaleForm scale;

  friend bool operator==(const NormForm&, const NormForm&) = default;
};

float inverse_sigma(float variance, float epsilon);
float normalised(float x, float mean, float inverse_sigma, float weight, float bias, const ScaleForm& form);

// Canonical: it has only what decides the bits of that output, and equal texts give equal bits.
std::string norm_text(const NormForm& form);
// The form for people: "Welford in 8 lanes, means fused but where chunks join".
std::string norm_shape(const NormForm& form);

// All forms to which ATen can be compiled, in the same order on every stack, so that two stacks that agree get one
// name.
const std::vector<MomentsForm>& mean_forms();                           // forms that differ in the mean
std::vector<MomentsForm> square_forms(const MomentsForm& of_the_mean);  // with that mean
const std::vector<ScaleForm>& scale_forms();

}  // namespace reprobench
