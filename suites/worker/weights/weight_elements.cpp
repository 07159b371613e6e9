#include "suites/worker/weights/weight_elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

namespace reprobench {
namespace {

std::uint32_t single_of_half(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  if (magnitude >= 0x7C00U) return sign | 0x7F800000U | (magnitude & 0x3FFU) << 13;
  if (magnitude >= 0x400U) return sign | ((magnitude << 13) + ((127U - 15U) << 23));
  if (magnitude == 0) return sign;
  // Subnormal: the highest bit that is set becomes the implied one.
  const int zeros = std::countl_zero(magnitude) - 21;  // above it, of the 11 bits of a significand
  const std::uint32_t significand = magnitude << zeros & 0x3FFU;
  return sign | static_cast<std::uint32_t>(127 - 15 + 1 - zeros) << 23 | significand << 13;
}

std::uint32_t single_of_double(std::uint64_t bits) {
  const auto sign = static_cast<std::uint32_t>(bits >> 63) << 31;
  const int exponent = static_cast<int>(bits >> 52 & 0x7FFU) - 1023;
  const std::uint64_t fraction = bits & 0xFFFFFFFFFFFFFULL;
  if (exponent == 1024) return sign | 0x7F800000U | (fraction != 0 ? 0x400000U : 0U);
  if (exponent > 127) return sign | 0x7F800000U;
  const int dropped = 29 + std::max(0, -126 - exponent);
  if (dropped > 54) return sign;  // less than half of the smallest
  const std::uint64_t significand = fraction | 1ULL << 52;
  std::uint64_t kept = significand >> dropped;
  const std::uint64_t rest = significand & ((1ULL << dropped) - 1);
  const std::uint64_t half = 1ULL << (dropped - 1);
  if (rest > half || (rest == half && (kept & 1U) != 0)) ++kept;
  // The implied bit adds one to the exponent, and so does a carry, up to infinity.
  const std::uint64_t below = exponent >= -126 ? static_cast<std::uint64_t>(exponent + 126) << 23 : 0;
  return sign | static_cast<std::uint32_t>(below + kept);
}

template <class Word, class Convert>
void convert(std::span<const std::byte> from, std::span<float> to, Convert bits_of) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    Word word;
    std::memcpy(&word, from.data() + i * sizeof(Word), sizeof(Word));
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits_of(word)));
  }
}

}  // namespace

std::size_t weight_element_bytes(std::string_view dtype) {
  if (dtype == "F32") return 4;
  if (dtype == "F16" || dtype == "BF16") return 2;
  return dtype == "F64" ? 8 : 0;
}

void widen_or_round(std::string_view dtype, std::span<const std::byte> from, std::span<float> to) {
  if (from.size() != weight_element_bytes(dtype) * to.size()) {
    throw std::logic_error(std::to_string(from.size()) + " bytes of " + std::string(dtype));
  }
  if (dtype == "F32") {
    std::memcpy(to.data(), from.data(), from.size());
  } else if (dtype == "F16") {
    convert<std::uint16_t>(from, to, single_of_half);
  } else if (dtype == "BF16") {
    convert<std::uint16_t>(from, to, [](std::uint16_t bits) { return std::uint32_t{bits} << 16; });
  } else {
    convert<std::uint64_t>(from, to, single_of_double);
  }
}

std::size_t first_not_finite(std::span<const float> values) {
  const auto found = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  return static_cast<std::size_t>(found - values.begin());
}

void place_transposed(std::span<const float> elements, std::int64_t first, std::int64_t rows, std::int64_t columns,
                      float* transpose) {
  std::int64_t row = first / columns;
  std::int64_t column = first % columns;
  for (const float element : elements) {
    transpose[column * rows + row] = element;
    if (++column == columns) column = 0, ++row;
  }
}

}  // namespace reprobench
