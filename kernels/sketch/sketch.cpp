#include "kernels/sketch/sketch.hpp"

#include <algorithm>
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

// What accumulates over the rows, one lane a column.
struct Lanes {
  double sum[kSketchSums] = {};
  double square[kSketchSums] = {};
  double signed_sum[kSketchSums] = {};
  double min[kSketchSums];
  double max[kSketchSums];
};

// A row of 64 finite elements. Every column has its own lane, so the order of additions does not depend on how wide the
// machine's vectors are.
[[gnu::always_inline]] inline void add_row(const double* row, std::uint64_t row_signs, Lanes& lanes) {
  for (std::size_t j = 0; j < kSketchSums; ++j) {
    const double x = row[j];
    lanes.sum[j] += x;
    lanes.square[j] += x * x;
    lanes.min[j] = x < lanes.min[j] ? x : lanes.min[j];
    lanes.max[j] = x > lanes.max[j] ? x : lanes.max[j];
    const std::uint64_t minus = (~row_signs >> j & 1) << 63;
    lanes.signed_sum[j] += std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ minus);
  }
}

[[gnu::always_inline]] inline bool all_finite(const double* row) {
  std::uint64_t not_finite = 0;
  for (std::size_t j = 0; j < kSketchSums; ++j) {
    // The exponent's eleven bits carry into the sign's place only if all are set.
    not_finite |= (std::bit_cast<std::uint64_t>(row[j]) & 0x7fff'ffff'ffff'ffffU) + 0x0010'0000'0000'0000U;
  }
  return not_finite >> 63 == 0;
}

// Adds whole rows until one holds an element that is not finite; returns how many it added.
template <class T>
[[gnu::always_inline]] inline std::size_t add_finite_rows(const T* values, std::size_t first, std::size_t rows,
                                                          Lanes& lanes) {
  for (std::size_t row = first; row < rows; ++row) {
    double wide[kSketchSums];
    for (std::size_t j = 0; j < kSketchSums; ++j) wide[j] = to_double(values[row * kSketchSums + j]);
    if (!all_finite(wide)) return row - first;
    add_row(wide, signs(row), lanes);
  }
  return rows - first;
}

template <class T>
std::size_t add_rows_baseline(const T* values, std::size_t first, std::size_t rows, Lanes& lanes) {
  return add_finite_rows(values, first, rows, lanes);
}

#ifdef __x86_64__
template <class T>
[[gnu::optimize("O3"), gnu::target("avx2")]] std::size_t add_rows_avx2(const T* values, std::size_t first,
                                                                       std::size_t rows, Lanes& lanes) {
  return add_finite_rows(values, first, rows, lanes);
}
#endif

bool has_avx2() {
#ifdef __x86_64__
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

template <class T>
std::size_t add_rows(const T* values, std::size_t first, std::size_t rows, Lanes& lanes) {
#ifdef __x86_64__
  static const bool kAvx2 = has_avx2();
  if (kAvx2) return add_rows_avx2(values, first, rows, lanes);
#endif
  return add_rows_baseline(values, first, rows, lanes);
}

// A row that is short or holds elements that are not finite, which are counted and left out.
template <class T>
void add_ragged_row(std::span<const T> row_values, std::uint64_t row_signs, Lanes& lanes, Sketch& result) {
  for (std::size_t j = 0; j < row_values.size(); ++j) {
    const double x = to_double(row_values[j]);
    if (!std::isfinite(x)) {
      ++(std::isnan(x) ? result.nan_count : result.inf_count);
      continue;
    }
    lanes.min[j] = std::min(lanes.min[j], x);
    lanes.max[j] = std::max(lanes.max[j], x);
    lanes.sum[j] += x;
    lanes.square[j] += x * x;
    lanes.signed_sum[j] += (row_signs >> j & 1) != 0 ? x : -x;
  }
}

template <class T>
Sketch sketch_of(std::span<const T> values) {
  Sketch result;
  result.count = static_cast<std::int64_t>(values.size());
  Lanes lanes;
  std::fill(std::begin(lanes.min), std::end(lanes.min), std::numeric_limits<double>::infinity());
  std::fill(std::begin(lanes.max), std::end(lanes.max), -std::numeric_limits<double>::infinity());
  const std::size_t whole_rows = values.size() / kSketchSums;
  for (std::size_t row = 0; row * kSketchSums < values.size();) {
    row += add_rows(values.data(), row, whole_rows, lanes);
    if (row * kSketchSums >= values.size()) break;
    const std::size_t width = std::min(kSketchSums, values.size() - row * kSketchSums);
    add_ragged_row(values.subspan(row * kSketchSums, width), signs(row), lanes, result);
    ++row;
  }
  double sum_of_squares = 0;
  for (std::size_t j = 0; j < kSketchSums; ++j) {
    result.sum += lanes.sum[j];
    sum_of_squares += lanes.square[j];
    result.signed_sums[j] = lanes.signed_sum[j];
  }
  result.l2 = std::sqrt(sum_of_squares);
  result.min = *std::min_element(std::begin(lanes.min), std::end(lanes.min));
  result.max = *std::max_element(std::begin(lanes.max), std::end(lanes.max));
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
