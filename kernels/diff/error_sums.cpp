#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "kernels/diff/diff.hpp"
#include "kernels/diff/float_format.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kErrorLanes = 16;
constexpr std::size_t kChunk = 16 * kErrorLanes;
using Chunk = std::array<double, kChunk>;

template <class Format>
void load_values(const std::byte* bytes, std::size_t count, Chunk& values) {
  using Word = typename Format::Word;
  std::array<Word, kChunk> words;
  std::memcpy(words.data(), bytes, count * sizeof(Word));
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (sizeof(Word) >= 4) {
      values[i] = Format::finite_value(words[i]);  // the machine's own formats: NaN and infinity convert by themselves
    } else {
      values[i] = Format::value(words[i]);
    }
  }
}

using Loader = void (*)(const std::byte*, std::size_t, Chunk&);

Loader loader_of(ElementType type) {
  switch (type) {
    case ElementType::fp64:
      return &load_values<Fp64>;
    case ElementType::fp32:
      return &load_values<Fp32>;
    case ElementType::bf16:
      return &load_values<Bf16>;
    case ElementType::fp16:
      return &load_values<Fp16>;
    case ElementType::fp8_e4m3fn:
      return &load_values<Fp8E4m3fn>;
    case ElementType::fp8_e5m2:
      return &load_values<Fp8E5m2>;
    default:
      throw std::invalid_argument("error_sums: not a floating type");
  }
}

struct ErrorLanes {
  std::array<double, kErrorLanes> error_squares{};
  std::array<double, kErrorLanes> reference_squares{};
  std::array<double, kErrorLanes> max_abs_error{};
  std::array<double, kErrorLanes> max_abs_reference{};
};

// Adds rows of 16 elements that are all finite on both sides; false, with nothing added, if one is not.
bool add_finite_row(const double* x, const double* h, ErrorLanes& lanes) {
  double not_finite = 0;  // becomes NaN: 0 * infinity and 0 * NaN are NaN
  for (std::size_t j = 0; j < kErrorLanes; ++j) not_finite += x[j] * 0.0 + h[j] * 0.0;
  if (not_finite != 0) return false;
  for (std::size_t j = 0; j < kErrorLanes; ++j) {
    const double error = x[j] - h[j];
    const double error_size = std::fabs(error);
    const double size = std::fabs(h[j]);
    lanes.error_squares[j] += error * error;
    lanes.reference_squares[j] += h[j] * h[j];
    lanes.max_abs_error[j] = error_size > lanes.max_abs_error[j] ? error_size : lanes.max_abs_error[j];
    lanes.max_abs_reference[j] = size > lanes.max_abs_reference[j] ? size : lanes.max_abs_reference[j];
  }
  return true;
}

// Counts the elements that are not finite on both sides and makes them 0, so that the row can be added.
void take_out_not_finite(double* x, double* h, ErrorSums& sums) {
  for (std::size_t j = 0; j < kErrorLanes; ++j) {
    if (std::isfinite(x[j]) && std::isfinite(h[j])) continue;
    if (std::isnan(x[j]) != std::isnan(h[j])) {
      ++sums.nan_mismatches;
    } else if (!std::isnan(x[j]) && x[j] != h[j]) {
      ++sums.inf_mismatches;
    }
    x[j] = h[j] = 0;
  }
}

ErrorSums folded(ErrorSums sums, const ErrorLanes& lanes) {
  for (std::size_t j = 0; j < kErrorLanes; ++j) {
    sums.error_squares += lanes.error_squares[j];
    sums.reference_squares += lanes.reference_squares[j];
    sums.max_abs_error = std::max(sums.max_abs_error, lanes.max_abs_error[j]);
    sums.max_abs_reference = std::max(sums.max_abs_reference, lanes.max_abs_reference[j]);
  }
  return sums;
}

}  // namespace

ErrorSums error_sums(ElementType type, std::span<const std::byte> values, ElementType reference_type,
                     std::span<const std::byte> reference) {
  const Loader load_x = loader_of(type);
  const Loader load_h = loader_of(reference_type);
  const std::size_t size_x = element_bytes(type);
  const std::size_t size_h = element_bytes(reference_type);
  const std::size_t count = values.size() / size_x;
  if (values.size() % size_x != 0 || reference.size() != count * size_h) {
    throw std::invalid_argument("error_sums: the tensors differ in their number of elements");
  }
  ErrorSums sums;
  sums.count = static_cast<std::int64_t>(count);
  ErrorLanes lanes;
  Chunk x;
  Chunk h;
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    const std::size_t width = std::min(kChunk, count - begin);
    load_x(values.data() + begin * size_x, width, x);
    load_h(reference.data() + begin * size_h, width, h);
    std::fill(x.begin() + static_cast<std::ptrdiff_t>(width), x.end(), 0.0);
    std::fill(h.begin() + static_cast<std::ptrdiff_t>(width), h.end(), 0.0);
    for (std::size_t row = 0; row < width; row += kErrorLanes) {
      if (add_finite_row(&x[row], &h[row], lanes)) continue;
      take_out_not_finite(&x[row], &h[row], sums);
      add_finite_row(&x[row], &h[row], lanes);
    }
  }
  return folded(sums, lanes);
}

}  // namespace reprobench
