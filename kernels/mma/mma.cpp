#include "kernels/mma/mma.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace reprobench {
namespace {

struct Instruction {
  std::string_view device_class;
  MmaType type;
  MmaRule rule;
};

// clang-format off
constexpr Instruction kInstructions[] = {
    // class   factors            generation, fused k, fraction bits, accumulator bits
    {"sm_70",  MmaType::fp16,     {"Volta",      4, 23, 23}},
    {"sm_75",  MmaType::fp16,     {"Turing",     8, 24, 23}},
    {"sm_80",  MmaType::fp16,     {"Ampere",     8, 24, 23}},
    {"sm_80",  MmaType::bf16,     {"Ampere",     8, 24, 23}},
    {"sm_80",  MmaType::tf32,     {"Ampere",     4, 24, 23}},
    {"sm_86",  MmaType::fp16,     {"Ampere",     8, 24, 23}},
    {"sm_86",  MmaType::bf16,     {"Ampere",     8, 24, 23}},
    {"sm_86",  MmaType::tf32,     {"Ampere",     4, 24, 23}},
    {"sm_89",  MmaType::fp16,     {"Ada",        8, 24, 23}},
    {"sm_89",  MmaType::bf16,     {"Ada",        8, 24, 23}},
    {"sm_89",  MmaType::tf32,     {"Ada",        4, 24, 23}},
    {"sm_89",  MmaType::fp8_e4m3, {"Ada",       16, 13, 13}},
    {"sm_89",  MmaType::fp8_e5m2, {"Ada",       16, 13, 13}},
    {"sm_90",  MmaType::fp16,     {"Hopper",    16, 25, 23}},
    {"sm_90",  MmaType::bf16,     {"Hopper",    16, 25, 23}},
    {"sm_90",  MmaType::tf32,     {"Hopper",     8, 25, 23}},
    {"sm_90",  MmaType::fp8_e4m3, {"Hopper",    32, 13, 13}},
    {"sm_90",  MmaType::fp8_e5m2, {"Hopper",    32, 13, 13}},
    {"sm_100", MmaType::fp16,     {"Blackwell", 16, 25, 23}},
    {"sm_100", MmaType::bf16,     {"Blackwell", 16, 25, 23}},
    {"sm_100", MmaType::tf32,     {"Blackwell",  8, 25, 23}},
    {"sm_100", MmaType::fp8_e4m3, {"Blackwell", 32, 25, 23}},
    {"sm_100", MmaType::fp8_e5m2, {"Blackwell", 32, 25, 23}},
    {"sm_120", MmaType::fp16,     {"Blackwell", 16, 25, 23}},
    {"sm_120", MmaType::bf16,     {"Blackwell", 16, 25, 23}},
    {"sm_120", MmaType::tf32,     {"Blackwell",  8, 25, 23}},
    {"sm_120", MmaType::fp8_e4m3, {"Blackwell", 32, 25, 23}},
    {"sm_120", MmaType::fp8_e5m2, {"Blackwell", 32, 25, 23}},
};
// clang-format on

constexpr int kFp32LeastExponent = -126;

// Exponent of the smallest normal number: below it a significand is less than 1 instead.
int least_exponent(MmaType type) {
  switch (type) {
    case MmaType::fp16:
    case MmaType::fp8_e5m2:
      return -14;
    case MmaType::fp8_e4m3:
      return -6;
    case MmaType::bf16:
    case MmaType::tf32:
      break;
  }
  return kFp32LeastExponent;
}

// value = significand * 2^exponent.
struct Addend {
  double significand;
  int exponent;
};

Addend addend_of(double value, int least) {
  if (value == 0) return {0, kFp32LeastExponent};
  int exponent = 0;
  const double significand = 2 * std::frexp(value, &exponent);
  --exponent;
  if (exponent >= least) return {significand, exponent};
  return {std::ldexp(significand, exponent - least), least};
}

float truncated_to_tf32(float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) >> 13 << 13); }

// Towards zero, to `fraction_bits` after the leading one; fewer among the subnormals of fp32.
float cut(double value, int fraction_bits) {
  const Addend addend = addend_of(value, kFp32LeastExponent);
  if (addend.exponent > 127) return std::copysign(HUGE_VALF, static_cast<float>(addend.significand));
  const double kept = std::trunc(std::ldexp(addend.significand, fraction_bits));
  return static_cast<float>(std::ldexp(kept, addend.exponent - fraction_bits));
}

float ieee_special(double value) {
  return std::isnan(value) ? std::bit_cast<float>(0x7fffffffU) : static_cast<float>(value);
}

// One instruction: all products of the group and the accumulator, added at once.
float fused_add(const MmaRule& rule, int least, std::span<const float> a, std::span<const float> b, float accumulator) {
  double plain = accumulator;
  for (std::size_t i = 0; i < a.size(); ++i) plain += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  if (!std::isfinite(plain)) return ieee_special(plain);

  std::array<Addend, 33> addends{};  // the largest fused_k and the accumulator
  addends[0] = addend_of(accumulator, kFp32LeastExponent);
  int largest = addends[0].exponent;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Addend x = addend_of(a[i], least);
    const Addend y = addend_of(b[i], least);
    addends[i + 1] = {x.significand * y.significand, x.exponent + y.exponent};
    largest = std::max(largest, addends[i + 1].exponent);
  }
  double sum = 0;  // of integers far below 2^53: exact
  for (std::size_t i = 0; i <= a.size(); ++i) {
    sum += std::trunc(std::ldexp(addends[i].significand, rule.fraction_bits + addends[i].exponent - largest));
  }
  return cut(std::ldexp(sum, largest - rule.fraction_bits), rule.accumulator_bits);
}

}  // namespace

std::optional<MmaRule> mma_rule(std::string_view device_class, MmaType type) {
  for (const Instruction& row : kInstructions) {
    if (row.device_class == device_class && row.type == type) return row.rule;
  }
  return std::nullopt;
}

float mma_dot(const MmaRule& rule, MmaType type, std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) throw std::invalid_argument("mma_dot: rows of different length");
  std::vector<float> x(a.begin(), a.end());
  std::vector<float> y(b.begin(), b.end());
  if (type == MmaType::tf32) {
    std::transform(x.begin(), x.end(), x.begin(), &truncated_to_tf32);
    std::transform(y.begin(), y.end(), y.begin(), &truncated_to_tf32);
  }
  const int least = least_exponent(type);
  const auto group = static_cast<std::size_t>(rule.fused_k);
  float accumulator = 0;
  for (std::size_t k = 0; k < x.size(); k += group) {
    const std::size_t count = std::min(group, x.size() - k);
    accumulator = fused_add(rule, least, std::span(x).subspan(k, count), std::span(y).subspan(k, count), accumulator);
  }
  return accumulator;
}

}  // namespace reprobench
