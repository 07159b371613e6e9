#include "kernels/sketch/sketch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/sketch/sketch_kernels.hpp"

namespace reprobench {
namespace {

double to_double(float value) { return static_cast<double>(value); }
double to_double(double value) { return value; }
double to_double(std::int64_t value) { return static_cast<double>(value); }
double to_double(Bfloat16 value) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16));
}

static_assert(kSketchSums == kSketchColumns);

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What accumulates over the rows of a segment, one lane a column.
struct Lanes {
  Lanes() {
    std::fill(std::begin(min), std::end(min), kInfinity);
    std::fill(std::begin(max), std::end(max), -kInfinity);
  }

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
    add_row(wide, sketch_signs(row), lanes);
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
void add_ragged_row(std::span<const T> row_values, std::uint64_t row_signs, Lanes& lanes, SketchPart& total) {
  for (std::size_t j = 0; j < row_values.size(); ++j) {
    const double x = to_double(row_values[j]);
    if (!std::isfinite(x)) {
      ++(std::isnan(x) ? total.nan_count : total.inf_count);
      continue;
    }
    lanes.min[j] = x < lanes.min[j] ? x : lanes.min[j];
    lanes.max[j] = x > lanes.max[j] ? x : lanes.max[j];
    lanes.sum[j] += x;
    lanes.square[j] += x * x;
    lanes.signed_sum[j] += (row_signs >> j & 1) != 0 ? x : -x;
  }
}

// The sum of the columns, pairwise, neighbours first.
double sum_of_columns(double (&column)[kSketchSums]) {
  for (std::size_t width = kSketchSums / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) column[j] = column[2 * j] + column[2 * j + 1];
  }
  return column[0];
}

void add_segment(Lanes& lanes, SketchPart& total) {
  total.sum += sum_of_columns(lanes.sum);
  total.squares += sum_of_columns(lanes.square);
  for (std::size_t j = 0; j < kSketchSums; ++j) {
    total.signed_sums[j] += lanes.signed_sum[j];
    total.min = lanes.min[j] < total.min ? lanes.min[j] : total.min;
    total.max = lanes.max[j] > total.max ? lanes.max[j] : total.max;
  }
}

template <class T>
Sketch sketch_of(std::span<const T> values) {
  SketchPart total{0, 0, kInfinity, -kInfinity, 0, 0, {}};
  for (std::size_t begin = 0; begin < values.size(); begin += kSketchSegment) {
    Lanes lanes;
    const std::size_t end = std::min(begin + kSketchSegment, values.size());
    const std::size_t whole_rows = end / kSketchSums;
    for (std::size_t row = begin / kSketchSums; row * kSketchSums < end;) {
      row += add_rows(values.data(), row, whole_rows, lanes);
      if (row * kSketchSums >= end) break;
      const std::size_t width = std::min(kSketchSums, end - row * kSketchSums);
      add_ragged_row(values.subspan(row * kSketchSums, width), sketch_signs(row), lanes, total);
      ++row;
    }
    add_segment(lanes, total);
  }
  return finish_sketch(total, static_cast<std::int64_t>(values.size()));
}

}  // namespace

Sketch finish_sketch(const SketchPart& total, std::int64_t count) {
  Sketch result;
  result.count = count;
  result.nan_count = static_cast<std::int64_t>(total.nan_count);
  result.inf_count = static_cast<std::int64_t>(total.inf_count);
  const bool any_finite = result.nan_count + result.inf_count != count;
  result.min = any_finite ? total.min : std::numeric_limits<double>::quiet_NaN();
  result.max = any_finite ? total.max : std::numeric_limits<double>::quiet_NaN();
  result.sum = total.sum;
  result.l2 = std::sqrt(total.squares);
  std::copy(std::begin(total.signed_sums), std::end(total.signed_sums), result.signed_sums.begin());
  return result;
}

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
  std::uint64_t row = 0;
  auto signs = sketch_signs(row);  // of the row that the last position was in: positions as a rule ascend
  for (const std::int64_t position : positions) {
    const auto index = static_cast<std::uint64_t>(position);
    if (index / kSketchSums != row) signs = sketch_signs(row = index / kSketchSums);
    const std::size_t j = index % kSketchSums;
    result.signed_sums[j] += (signs >> j & 1) != 0 ? 1 : -1;
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
