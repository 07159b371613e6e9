#include "kernels/sketch/sketch.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/digest/word_mix.hpp"

namespace reprobench {
namespace {

double to_double(float value) { return static_cast<double>(value); }
double to_double(double value) { return value; }
double to_double(std::int64_t value) { return static_cast<double>(value); }
double to_double(Bfloat16 value) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16));
}

// One sign bit for each of the 64 elements of row `row`.
std::uint64_t signs(std::uint64_t row) { return mix_word(row, kDigestSalt).lane[0]; }

template <class T>
Sketch sketch_of(std::span<const T> values) {
  Sketch result;
  result.count = static_cast<std::int64_t>(values.size());
  result.min = std::numeric_limits<double>::infinity();
  result.max = -std::numeric_limits<double>::infinity();
  std::array<double, kSketchSums> sums{};
  std::array<double, kSketchSums> squares{};
  for (std::size_t row = 0; row * kSketchSums < values.size(); ++row) {
    const std::uint64_t row_signs = signs(row);
    const std::size_t width = std::min(kSketchSums, values.size() - row * kSketchSums);
    for (std::size_t j = 0; j < width; ++j) {
      const double x = to_double(values[row * kSketchSums + j]);
      if (!std::isfinite(x)) {
        ++(std::isnan(x) ? result.nan_count : result.inf_count);
        continue;
      }
      result.min = std::min(result.min, x);
      result.max = std::max(result.max, x);
      sums[j] += x;
      squares[j] += x * x;
      result.signed_sums[j] += (row_signs >> j & 1) != 0 ? x : -x;
    }
  }
  double sum_of_squares = 0;
  for (std::size_t j = 0; j < kSketchSums; ++j) {
    result.sum += sums[j];
    sum_of_squares += squares[j];
  }
  result.l2 = std::sqrt(sum_of_squares);
  if (result.nan_count + result.inf_count == result.count) {
    result.min = result.max = std::numeric_limits<double>::quiet_NaN();
  }
  return result;
}

}  // namespace

Sketch sketch(std::span<const float> values) { return sketch_of(values); }
Sketch sketch(std::span<const double> values) { return sketch_of(values); }
Sketch sketch(std::span<const Bfloat16> values) { return sketch_of(values); }
Sketch sketch(std::span<const std::int64_t> values) { return sketch_of(values); }

Sketch sketch_of_ones(std::int64_t count, std::span<const std::int64_t> positions) {
  const auto ones = static_cast<std::int64_t>(positions.size());
  Sketch result;
  result.count = count;
  result.min = ones == count ? 1 : 0;
  result.max = ones == 0 ? 0 : 1;
  result.sum = static_cast<double>(ones);
  result.l2 = std::sqrt(result.sum);
  if (count == 0) result.min = result.max = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t position : positions) {
    const auto index = static_cast<std::uint64_t>(position);
    const std::size_t j = index % kSketchSums;
    result.signed_sums[j] += (signs(index / kSketchSums) >> j & 1) != 0 ? 1 : -1;
  }
  return result;
}

double estimated_distance(const Sketch& a, const Sketch& b) {
  double sum_of_squares = 0;
  for (std::size_t j = 0; j < kSketchSums; ++j) {
    const double difference = a.signed_sums[j] - b.signed_sums[j];
    sum_of_squares += difference * difference;
  }
  return std::sqrt(sum_of_squares);
}

}  // namespace reprobench
