#include "matrix/numerics/bounds/accumulator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "kernels/diff/diff.hpp"
#include "kernels/mma/mma.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"

namespace reprobench {
namespace {

// Emulated factors, spread over the output: enough to tell rules apart, few enough to take a second.
constexpr std::int64_t kMostFactors = 1 << 22;
constexpr double kFits = 0.99;  // share of elements whose recorded bits a rule must give
constexpr int kClearly = 8;     // so many elements more than any other explanation

std::optional<MmaType> factor_type(const std::string& dtype, bool tf32) {
  if (dtype == "F16") return MmaType::fp16;
  if (dtype == "BF16") return MmaType::bf16;
  if (dtype == "F8_E4M3") return MmaType::fp8_e4m3;
  if (dtype == "F8_E5M2") return MmaType::fp8_e5m2;
  if (dtype == "F32" && tf32) return MmaType::tf32;
  return std::nullopt;
}

std::uint64_t bits_at(const TensorView& tensor, std::int64_t index) {
  const std::size_t size = element_bytes(element_type_of(tensor.dtype));
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.bytes.data() + static_cast<std::size_t>(index) * size, size);
  return bits;
}

float value_at(const TensorView& tensor, std::int64_t index) {
  return static_cast<float>(element_value(element_type_of(tensor.dtype), bits_at(tensor, index)));
}

// fp32 to the output's type, to nearest even: what the end of a kernel does with its accumulator.
std::uint64_t rounded_bits(float sum, const std::string& dtype) {
  const auto bits = std::bit_cast<std::uint32_t>(sum);
  if (dtype == "F32") return bits;
  if (dtype == "BF16") {
    if (std::isnan(sum)) return 0x7fff;
    return (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  }
  const int sign = std::signbit(sum) ? 0x8000 : 0;  // fp16
  if (std::isnan(sum)) return 0x7fff;
  const float magnitude = std::fabs(sum);
  if (magnitude >= 65520.0F) return static_cast<std::uint64_t>(sign | 0x7c00);
  const int exponent = magnitude < 0x1p-14F ? -14 : std::ilogb(magnitude);
  const double units = std::nearbyint(std::ldexp(static_cast<double>(magnitude), 10 - exponent));
  const int fields =
      magnitude < 0x1p-14F ? static_cast<int>(units) : ((exponent + 15) << 10) + static_cast<int>(units) - (1 << 10);
  return static_cast<std::uint64_t>(sign | fields);
}

// The operands of one call: (batch) x m x k and (batch) x k x n.
struct Product {
  const TensorView* a = nullptr;
  const TensorView* b = nullptr;
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;

  // Row and column of output element `index`.
  void row_and_column(std::int64_t index, std::vector<float>& row, std::vector<float>& column) const {
    const std::int64_t batch = index / (m * n);
    const std::int64_t i = index / n % m;
    const std::int64_t j = index % n;
    for (std::int64_t l = 0; l < k; ++l) {
      row[static_cast<std::size_t>(l)] = value_at(*a, (batch * m + i) * k + l);
      column[static_cast<std::size_t>(l)] = value_at(*b, (batch * k + l) * n + j);
    }
  }
};

bool is_all_zero(const TensorView& tensor) {
  return std::all_of(tensor.bytes.begin(), tensor.bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::optional<Product> product_of(std::string_view name, std::span<const TensorView> inputs) {
  const bool adds = name == "aten::addmm";
  if (!adds && name != "aten::mm" && name != "aten::bmm") return std::nullopt;
  const std::size_t first = adds ? 1 : 0;
  if (inputs.size() != first + 2 || (adds && !is_all_zero(inputs[0]))) return std::nullopt;
  const TensorView& a = inputs[first];
  const TensorView& b = inputs[first + 1];
  const std::size_t rank = name == "aten::bmm" ? 3 : 2;
  if (a.shape.size() != rank || b.shape.size() != rank || a.dtype != b.dtype) return std::nullopt;
  Product product{&a, &b, a.shape[rank - 2], a.shape[rank - 1], b.shape[rank - 1]};
  if (b.shape[rank - 2] != product.k) return std::nullopt;
  return product;
}

using Row = std::span<const float>;

float fp32_sum(Row a, Row b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}

float exact_sum(Row a, Row b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return static_cast<float>(sum);
}

std::string rule_text(const std::string& device, const MmaRule& rule) {
  return fmt::format("{} adds {} products at {} fraction bits", device, rule.fused_k, rule.fraction_bits);
}

}  // namespace

std::optional<AccumulatorFit> explain_by_accumulator(std::string_view operator_name, std::span<const TensorView> inputs,
                                                     const TensorView& measured, const ProductSide& measured_side,
                                                     const TensorView& expected, const ProductSide& expected_side) {
  const auto product = product_of(operator_name, inputs);
  if (!product || measured.dtype != expected.dtype || measured.shape != expected.shape) return std::nullopt;
  if (measured.dtype != "F32" && measured.dtype != "BF16" && measured.dtype != "F16") return std::nullopt;
  const auto type = factor_type(product->a->dtype, measured_side.tf32 && expected_side.tf32);
  if (!type) return std::nullopt;
  const auto our_rule = mma_rule(measured_side.device, *type);
  const auto their_rule = mma_rule(expected_side.device, *type);
  if (!our_rule || !their_rule || *our_rule == *their_rule) return std::nullopt;

  const std::function<float(Row, Row)> sums[] = {[&](Row a, Row b) { return mma_dot(*our_rule, *type, a, b); },
                                                 [&](Row a, Row b) { return mma_dot(*their_rule, *type, a, b); },
                                                 &fp32_sum, &exact_sum};
  AccumulatorFit fit;
  int others[2][4] = {};  // telling elements of a side that a sum gives
  const auto count = static_cast<std::int64_t>(measured.bytes.size() / element_bytes(element_type_of(measured.dtype)));
  const std::int64_t stride = std::max<std::int64_t>(1, count * product->k / kMostFactors);
  std::vector<float> row(static_cast<std::size_t>(product->k));
  std::vector<float> column(row.size());
  for (std::int64_t index = 0; index < count; index += stride) {
    product->row_and_column(index, row, column);
    std::uint64_t emulated[4];
    for (int i = 0; i < 4; ++i) emulated[i] = rounded_bits(sums[i](row, column), measured.dtype);
    const std::uint64_t ours = bits_at(measured, index);
    const std::uint64_t theirs = bits_at(expected, index);
    ++fit.elements;
    fit.measured_matches += emulated[0] == ours ? 1 : 0;
    fit.expected_matches += emulated[1] == theirs ? 1 : 0;
    if (emulated[0] == emulated[1]) continue;
    ++fit.telling;
    for (int i = 0; i < 4; ++i) {
      others[0][i] += emulated[i] == ours ? 1 : 0;
      others[1][i] += emulated[i] == theirs ? 1 : 0;
    }
  }
  fit.best_other_matches =
      std::max({others[0][1], others[0][2], others[0][3], others[1][0], others[1][2], others[1][3]});
  const int own = std::min(others[0][0], others[1][1]);
  const bool fits = fit.measured_matches >= kFits * fit.elements && fit.expected_matches >= kFits * fit.elements;
  if (!fits || own < fit.best_other_matches + kClearly) return std::nullopt;
  fit.sentence = fmt::format(
      "explained by the accumulator of {} against {}: {}, {}; emulated, each gives its own recorded bits ({} and {} of "
      "{} elements), another sum at most {} of the {} where the two differ",
      measured_side.device, expected_side.device, rule_text(measured_side.device, *our_rule),
      rule_text(expected_side.device, *their_rule), fit.measured_matches, fit.expected_matches, fit.elements,
      fit.best_other_matches, fit.telling);
  return fit;
}

}  // namespace reprobench
