#include "matrix/orders/row_moments.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "matrix/orders/rounding.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kChunk = 16;  // vectors
constexpr int kDeepestCascade = 64;

// The mean and the sum of squared deviations of some elements.
struct Partial {
  std::int64_t count = 0;
  float mean = 0;
  float squares = 0;
};

float joined_squares(SquaresJoin how, const Partial& one, const Partial& other, float delta, float share) {
  const auto count = static_cast<float>(one.count);
  switch (how) {
    case SquaresJoin::rounded:
      return one.squares + (other.squares + delta * delta * share * count);
    case SquaresJoin::fused:
      return one.squares + std::fma(delta * delta * share, count, other.squares);
    case SquaresJoin::regrouped_rounded:
      return (one.squares + other.squares) + (delta * count) * (share * delta);
    default:
      return std::fma(delta * count, share * delta, one.squares + other.squares);
  }
}

void join(Partial& one, const Partial& other, bool mean_fused, SquaresJoin squares) {
  const std::int64_t count = one.count + other.count;
  const float share = count == 0 ? 0 : static_cast<float>(other.count) / static_cast<float>(count);
  const float delta = other.mean - one.mean;
  one.squares = joined_squares(squares, one, other, delta, share);
  one.mean = multiply_add(mean_fused, share, delta, one.mean);
  one.count = count;
}

Partial chunk_of_lane(std::span<const float> row, std::int64_t first, std::int64_t vectors, const MomentsForm& form) {
  Partial chunk;
  for (std::int64_t j = 0; j < vectors; ++j) {
    const float x = row[static_cast<std::size_t>(first + j * form.lanes)];
    const float delta = x - chunk.mean;
    chunk.mean = multiply_add(form.update_mean_fused, 1.0F / static_cast<float>(j + 1), delta, chunk.mean);
    chunk.squares = multiply_add(form.update_squares_fused, delta, x - chunk.mean, chunk.squares);
  }
  chunk.count = vectors;
  return chunk;
}

Partial lane_of(std::span<const float> row, int lane, std::int64_t vectors, const MomentsForm& form) {
  const std::int64_t chunks = (vectors + kChunk - 1) / kChunk;
  const std::size_t depth = chunks <= 2 ? 1 : std::bit_width(static_cast<std::uint64_t>(chunks - 1));
  std::array<Partial, kDeepestCascade> cascade{};
  const auto join_into = [&](Partial& one, const Partial& other) {
    join(one, other, form.join_mean_fused, form.join_squares);
  };
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t size = std::min(kChunk, vectors - chunk * kChunk);
    join_into(cascade[0], chunk_of_lane(row, chunk * kChunk * form.lanes + lane, size, form));
    std::int64_t mask = chunk + 1;
    for (std::size_t level = 1; level < depth && (mask & 1) == 0; ++level, mask >>= 1) {
      join_into(cascade[level], cascade[level - 1]);
      cascade[level - 1] = {};
    }
  }
  for (std::size_t level = 1; level < depth; ++level) join_into(cascade[0], cascade[level]);
  return cascade[0];
}

constexpr std::string_view kJoins = "rfqn";  // by SquaresJoin
char letter(SquaresJoin join) { return kJoins[static_cast<std::size_t>(join)]; }

std::string mean_letters(const MomentsForm& form) {
  return {fused_letter(form.update_mean_fused), fused_letter(form.join_mean_fused),
          fused_letter(form.lanes_mean_fused)};
}

std::string square_letters(const MomentsForm& form) {
  return {fused_letter(form.update_squares_fused), letter(form.join_squares), fused_letter(form.rest_squares_fused),
          fused_letter(form.lanes_squares_fused)};
}

std::string scale_text(const ScaleForm& scale) {
  if (!scale.is_shifted) return std::string("centred=") + fused_letter(scale.bias_fused);
  return std::string("shifted=") + fused_letter(scale.shift_fused) + fused_letter(scale.bias_fused);
}

// Which of several roundings are fused: "fused", "not fused", or "fused but where chunks join".
std::string fused_text(std::initializer_list<std::pair<bool, const char*>> places) {
  std::string rounded;
  std::size_t count = 0;
  for (const auto& [is_fused, place] : places) {
    if (is_fused) continue;
    rounded += (rounded.empty() ? "" : ", ") + std::string(place);
    ++count;
  }
  if (count == places.size()) return "not fused";
  return rounded.empty() ? "fused" : "fused but where " + rounded;
}

}  // namespace

RowMoments row_moments(std::span<const float> row, const MomentsForm& form) {
  const auto size = static_cast<std::int64_t>(row.size());
  const std::int64_t vectors = size / form.lanes;
  Partial all;
  for (std::int64_t i = vectors * form.lanes; i < size; ++i) {
    const float x = row[static_cast<std::size_t>(i)];
    const float delta = x - all.mean;
    ++all.count;
    all.mean += delta / static_cast<float>(all.count);
    all.squares = multiply_add(form.rest_squares_fused, delta, x - all.mean, all.squares);
  }
  const SquaresJoin of_lanes = form.lanes_squares_fused ? SquaresJoin::fused : SquaresJoin::rounded;
  for (int lane = 0; lane < form.lanes; ++lane) {
    join(all, lane_of(row, lane, vectors, form), form.lanes_mean_fused, of_lanes);
  }
  return {all.mean, all.squares / static_cast<float>(size)};
}

float inverse_sigma(float variance, float epsilon) { return 1.0F / std::sqrt(variance + epsilon); }

float normalised(float x, float mean, float inverse_sigma, float weight, float bias, const ScaleForm& form) {
  const float scaled = form.is_shifted ? multiply_add(form.shift_fused, x, inverse_sigma, -(inverse_sigma * mean))
                                       : (x - mean) * inverse_sigma;
  return multiply_add(form.bias_fused, scaled, weight, bias);
}

std::string norm_text(const NormForm& form) {
  std::string text = "welford lanes=" + std::to_string(form.moments.lanes) + " mean=" + mean_letters(form.moments);
  if (form.output == NormOutput::mean) return text;
  text += " squares=" + square_letters(form.moments);
  return text + (form.output == NormOutput::inverse_sigma ? " root" : " " + scale_text(form.scale));
}

std::string norm_shape(const NormForm& form) {
  const MomentsForm& moments = form.moments;
  std::string text = "Welford in " + std::to_string(moments.lanes) + " lanes, means " +
                     fused_text({{moments.update_mean_fused, "chunks grow"},
                                 {moments.join_mean_fused, "chunks join"},
                                 {moments.lanes_mean_fused, "lanes join"}});
  if (form.output == NormOutput::mean) return text;
  const bool is_regrouped = moments.join_squares >= SquaresJoin::regrouped_rounded;
  const bool is_join_fused =
      moments.join_squares == SquaresJoin::fused || moments.join_squares == SquaresJoin::regrouped_fused;
  text += ", squares " + fused_text({{moments.update_squares_fused, "chunks grow"},
                                     {is_join_fused, "chunks join"},
                                     {moments.rest_squares_fused, "the rest is added"},
                                     {moments.lanes_squares_fused, "lanes join"}});
  if (is_regrouped) text += " and regrouped where chunks join";
  if (form.output == NormOutput::inverse_sigma) return text;
  text += form.scale.is_shifted ? "; x / sigma - mean / sigma, " : "; (x - mean) / sigma, ";
  if (form.scale.is_shifted && form.scale.shift_fused != form.scale.bias_fused) {
    return text + (form.scale.shift_fused ? "shift fused, bias not" : "bias fused, shift not");
  }
  return text + (form.scale.bias_fused ? "fused" : "not fused");
}

const std::vector<MomentsForm>& mean_forms() {
  static const std::vector<MomentsForm> kForms = [] {
    std::vector<MomentsForm> forms;
    for (const int lanes : {8, 16, 4}) {
      for (const bool update : {true, false}) {
        for (const bool joins : {true, false}) {
          for (const bool of_lanes : {true, false}) {
            MomentsForm form;
            form.lanes = lanes;
            form.update_mean_fused = update;
            form.join_mean_fused = joins;
            form.lanes_mean_fused = of_lanes;
            forms.push_back(form);
          }
        }
      }
    }
    return forms;
  }();
  return kForms;
}

std::vector<MomentsForm> square_forms(const MomentsForm& of_the_mean) {
  std::vector<MomentsForm> forms;
  for (const SquaresJoin joins :
       {SquaresJoin::fused, SquaresJoin::rounded, SquaresJoin::regrouped_fused, SquaresJoin::regrouped_rounded}) {
    for (const bool update : {true, false}) {
      for (const bool rest : {true, false}) {
        for (const bool of_lanes : {true, false}) {
          MomentsForm form = of_the_mean;
          form.update_squares_fused = update;
          form.join_squares = joins;
          form.rest_squares_fused = rest;
          form.lanes_squares_fused = of_lanes;
          forms.push_back(form);
        }
      }
    }
  }
  return forms;
}

const std::vector<ScaleForm>& scale_forms() {
  static const std::vector<ScaleForm> kForms = {{false, false, true}, {false, false, false}, {true, true, true},
                                                {true, false, true},  {true, true, false},   {true, false, false}};
  return kForms;
}

}  // namespace reprobench
