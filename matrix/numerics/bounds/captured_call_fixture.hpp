// For tests of bounds: the tensors of one call, as a worker leaves them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/local_error.hpp"
#include "matrix/numerics/bounds/operator_bounds.hpp"

namespace reprobench {

using Singles = std::vector<float>;
using Exact = std::vector<double>;
using Shape = std::vector<std::int64_t>;

// Rounds to the nearest, ties to even.
inline std::uint16_t bf16_bits(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline std::uint16_t fp16_bits(double value) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::abs(value) >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  const int exponent = value == 0 ? -14 : std::max(std::ilogb(value), -14);
  const int steps = static_cast<int>(std::nearbyint(std::ldexp(std::abs(value), 10 - exponent)));
  return static_cast<std::uint16_t>(sign | ((exponent + 14) * 1024 + steps));  // the leading bit carries over
}

// A type of 16 bits.
struct Half {
  const char* dtype;
  double roundoff;
  double rounded(double value) const {
    const bool is_fp16 = std::string(dtype) == "F16";
    const std::uint16_t bits = is_fp16 ? fp16_bits(value) : bf16_bits(value);
    return doubles_of({"", dtype, {1}, std::as_bytes(std::span(&bits, 1))}).front();
  }
};
inline const Half kBf16{"BF16", 0x1p-8};
inline const Half kFp16{"F16", 0x1p-11};

class Capture {
 public:
  explicit Capture(const std::string& name, const std::string& constants = "") {
    call_.name = name;
    call_.constants = constants;
  }
  Capture& single(const std::string& name, const Shape& shape, const Singles& values) {
    return add(name, "F32", shape, std::as_bytes(std::span(values)));
  }
  Capture& exact(const std::string& name, const Shape& shape, const Exact& values) {
    return add(name, "F64", shape, std::as_bytes(std::span(values)));
  }
  // `dtype` is "BF16" or "F16"; each number is rounded to it.
  Capture& halves(const std::string& dtype, const std::string& name, const Shape& shape, const Exact& values) {
    std::vector<std::uint16_t> bits;
    for (const double value : values) bits.push_back(dtype == "F16" ? fp16_bits(value) : bf16_bits(value));
    return add(name, dtype, shape, std::as_bytes(std::span(bits)));
  }
  Capture& whole(const std::string& name, const Shape& shape, const std::vector<std::int64_t>& values) {
    return add(name, "I64", shape, std::as_bytes(std::span(values)));
  }
  std::optional<LocalError> error(std::size_t output = 0, const LocalSettings& settings = {}) {
    std::vector<TensorView> views;
    for (const Kept& kept : kept_) views.push_back({kept.name, kept.dtype, kept.shape, kept.bytes});
    std::sort(views.begin(), views.end(), [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
    return local_error(call_, output, views, settings);
  }
  double of_bound(std::size_t output = 0, const LocalSettings& settings = {}) {
    const auto found = error(output, settings);
    REQUIRE(found);
    INFO(found->no_bound);
    REQUIRE(found->of_bound);
    return *found->of_bound;
  }

 private:
  struct Kept {
    std::string name;
    std::string dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };
  Capture& add(const std::string& name, const std::string& dtype, const Shape& shape,
               std::span<const std::byte> bytes) {
    kept_.push_back({name, dtype, shape, {bytes.begin(), bytes.end()}});
    return *this;
  }

  OperatorRecord call_;
  std::vector<Kept> kept_;
};

template <class T>
std::vector<T> as(const Singles& values) {
  return {values.begin(), values.end()};
}

// Random numbers, of which the first 64 are large.
inline Singles numbers(std::size_t count, unsigned seed = 5) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Singles values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(normal(random) * (i < 64 ? 8.0F : 1.0F));
  return values;
}

}  // namespace reprobench
