#include "matrix/numerics/bounds/accumulator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "ci/catch.hpp"
#include "kernels/mma/mma.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kRows = 24;
constexpr std::int64_t kDepth = 96;
constexpr std::int64_t kColumns = 20;

using Sum = std::function<float(std::span<const float>, std::span<const float>)>;

Sum emulated(const char* device, MmaType type) {
  return [rule = mma_rule(device, type).value(), type](auto a, auto b) { return mma_dot(rule, type, a, b); };
}

float plain_sum(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}

// Tensors with their bytes.
struct Tensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::uint32_t> words;  // F32
  std::vector<std::uint16_t> halves;

  TensorView view() const {
    const auto bytes = words.empty() ? std::as_bytes(std::span(halves)) : std::as_bytes(std::span(words));
    return {"t", dtype, shape, bytes, 0};
  }
};

float bf16_value(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// bf16 values in (-2, 2) from a small generator of its own.
std::vector<float> factors(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const float value = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-30F;
    values.push_back(bf16_value(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)));
  }
  return values;
}

Tensor as_bf16(const std::vector<float>& values, std::vector<std::int64_t> shape) {
  Tensor tensor{"BF16", std::move(shape), {}, {}};
  for (const float value : values) {
    tensor.halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
  }
  return tensor;
}

Tensor as_fp32(const std::vector<float>& values, std::vector<std::int64_t> shape) {
  Tensor tensor{"F32", std::move(shape), {}, {}};
  for (const float value : values) tensor.words.push_back(std::bit_cast<std::uint32_t>(value));
  return tensor;
}

struct Recorded {
  std::vector<float> a = factors(kRows * kDepth, 1);
  std::vector<float> b = factors(kDepth * kColumns, 2);

  // fp32 output of a kernel that sums like `sum`.
  Tensor output(const Sum& sum) const {
    std::vector<float> values;
    std::vector<float> column(kDepth);
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kColumns; ++j) {
        for (std::int64_t k = 0; k < kDepth; ++k) {
          column[static_cast<std::size_t>(k)] = b[static_cast<std::size_t>(k * kColumns + j)];
        }
        values.push_back(sum(std::span(a).subspan(static_cast<std::size_t>(i * kDepth), kDepth), column));
      }
    }
    return as_fp32(values, {kRows, kColumns});
  }

  std::optional<AccumulatorFit> explained(const Tensor& measured, const ProductSide& ours, const Tensor& expected,
                                          const ProductSide& theirs, const char* name = "aten::mm") const {
    const Tensor left = as_bf16(a, {kRows, kDepth});
    const Tensor right = as_bf16(b, {kDepth, kColumns});
    const Tensor zero = as_fp32(std::vector<float>(kColumns, 0.0F), {kColumns});
    std::vector<TensorView> inputs{left.view(), right.view()};
    if (std::string(name) == "aten::addmm") inputs.insert(inputs.begin(), zero.view());
    return explain_by_accumulator(name, inputs, measured.view(), ours, expected.view(), theirs);
  }
};

const ProductSide kAmpere{"sm_80", false};
const ProductSide kHopper{"sm_90", false};

TEST_CASE("outputs that both rules give to the bit are explained by the accumulator", "[verdict]") {
  const Recorded recorded;
  const Tensor ampere = recorded.output(emulated("sm_80", MmaType::bf16));
  const Tensor hopper = recorded.output(emulated("sm_90", MmaType::bf16));
  const auto fit = recorded.explained(ampere, kAmpere, hopper, kHopper);
  REQUIRE(fit);
  CHECK(fit->elements == kRows * kColumns);
  CHECK(fit->measured_matches == fit->elements);
  CHECK(fit->expected_matches == fit->elements);
  CHECK(fit->telling > fit->best_other_matches);
  CHECK(fit->sentence.substr(fit->sentence.find("another sum")) ==
        "another sum at most 32 of the 99 where the two differ");
  CHECK(fit->sentence.rfind("explained by the accumulator of sm_80 against sm_90: sm_80 adds 8 products at 24 fraction "
                            "bits, sm_90 adds 16 products at 25 fraction bits; emulated, each gives its own recorded "
                            "bits (480 and 480 of 480 elements)",
                            0) == 0);
  CHECK(recorded.explained(ampere, kAmpere, hopper, kHopper, "aten::addmm"));
}

// Both neighbours among all finite values of the type, by its definition: the nearer one, of two as near the even one.
std::uint16_t nearest16(float sum, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto value_of = [&](int bits) {
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const int exponent = bits >> fraction_bits;
    return exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                         : std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  };
  const double magnitude = std::fabs(static_cast<double>(sum));
  const int infinity = ((1 << exponent_bits) - 1) << fraction_bits;
  int below = 0;
  for (int step = 1 << 14; step > 0; step /= 2) {
    if (below + step < infinity && value_of(below + step) <= magnitude) below += step;
  }
  // Beyond the largest number the next value would be what infinity stands for.
  const double to_below = magnitude - value_of(below);
  const double to_above = value_of(below + 1) - magnitude;
  const bool takes_below = to_below < to_above || (to_below == to_above && below % 2 == 0);
  return static_cast<std::uint16_t>((std::signbit(sum) ? 0x8000 : 0) | (takes_below ? below : below + 1));
}

// Terms cancel but for a last one of 2^-16 of them, of which an accumulator keeps as many bits as it has: the sums then
// differ by more than an output of sixteen bits rounds away. Rows are scaled from fp16's smallest numbers to beyond its
// largest.
TEST_CASE("outputs of sixteen bits are explained too, from the smallest numbers to infinity", "[verdict]") {
  Recorded recorded;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const auto row = std::span(recorded.a).subspan(static_cast<std::size_t>(i * kDepth), kDepth);
    for (std::size_t k = 1; k < kDepth - 1; k += 2) row[k] = -row[k - 1];
    row[kDepth - 2] = 0;
    row[kDepth - 1] *= 0x1p-16F;
    for (float& value : row) value = std::ldexp(value, static_cast<int>(i) * 2 - 8);
  }
  for (std::int64_t k = 1; k < kDepth - 1; k += 2) {
    for (std::int64_t j = 0; j < kColumns; ++j) {
      recorded.b[static_cast<std::size_t>(k * kColumns + j)] =
          recorded.b[static_cast<std::size_t>((k - 1) * kColumns + j)];
    }
  }
  recorded.a[0] = std::bit_cast<float>(0x7fc00000U);  // a row of no numbers
  const auto [dtype, exponent_bits] = GENERATE(table<std::string, int>({{"F16", 5}, {"BF16", 8}}));
  const auto output = [&, dtype = dtype, bits = exponent_bits](const char* device) {
    Tensor tensor{dtype, {kRows, kColumns}, {}, {}};
    for (const std::uint32_t word : recorded.output(emulated(device, MmaType::bf16)).words) {
      const float sum = std::bit_cast<float>(word);
      tensor.halves.push_back(std::isnan(sum) ? std::uint16_t{0x7fff} : nearest16(sum, bits));
    }
    return tensor;
  };
  const Tensor ampere = output("sm_80");
  const Tensor hopper = output("sm_90");
  if (dtype == "F16") {
    CHECK(std::ranges::count_if(ampere.halves, [](int bits) { return (bits & 0x7fff) == 0x7c00; }) > 0);
    CHECK(std::ranges::count_if(ampere.halves, [](int bits) { return (bits & 0x7c00) == 0 && (bits & 0x3ff) != 0; }) >
          0);
  }
  const auto fit = recorded.explained(ampere, kAmpere, hopper, kHopper);
  REQUIRE(fit);
  CHECK(fit->measured_matches == kRows * kColumns);
  CHECK(fit->expected_matches == kRows * kColumns);
}

TEST_CASE("another cause is not explained", "[verdict]") {
  const Recorded recorded;
  const Tensor ampere = recorded.output(emulated("sm_80", MmaType::bf16));
  const Tensor hopper = recorded.output(emulated("sm_90", MmaType::bf16));
  const Tensor plain = recorded.output(&plain_sum);
  SECTION("the sides the other way round") { CHECK_FALSE(recorded.explained(hopper, kAmpere, ampere, kHopper)); }
  SECTION("one side is a plain fp32 sum") {
    CHECK_FALSE(recorded.explained(ampere, kAmpere, plain, kHopper));
    CHECK_FALSE(recorded.explained(plain, kAmpere, hopper, kHopper));
  }
  SECTION("one side splits k") {
    const Sum whole = emulated("sm_90", MmaType::bf16);
    const Tensor split = recorded.output([&](auto a, auto b) {
      return whole(a.first(kDepth / 2), b.first(kDepth / 2)) + whole(a.last(kDepth / 2), b.last(kDepth / 2));
    });
    CHECK_FALSE(recorded.explained(ampere, kAmpere, split, kHopper));
  }
  SECTION("a defect of one unit in the last place in two elements of a hundred") {
    Tensor defect = hopper;
    for (std::size_t i = 0; i < defect.words.size(); i += 50) ++defect.words[i];
    CHECK_FALSE(recorded.explained(ampere, kAmpere, defect, kHopper));
  }
  SECTION("two devices of one rule, or one without") {
    CHECK_FALSE(recorded.explained(ampere, kAmpere, hopper, {"sm_89", false}));
    CHECK_FALSE(recorded.explained(ampere, kAmpere, hopper, {"cpu", false}));
  }
  SECTION("an operator that is no plain product") {
    CHECK_FALSE(recorded.explained(ampere, kAmpere, hopper, kHopper, "aten::convolution"));
  }
}

TEST_CASE("a product with an addend, of other shapes or of two types is not emulated", "[verdict]") {
  const Recorded recorded;
  const Tensor ampere = recorded.output(emulated("sm_80", MmaType::bf16));
  const Tensor hopper = recorded.output(emulated("sm_90", MmaType::bf16));
  const Tensor left = as_bf16(recorded.a, {kRows, kDepth});
  const Tensor right = as_bf16(recorded.b, {kDepth, kColumns});
  const auto explained = [&](const char* name, const std::vector<Tensor>& inputs) {
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) views.push_back(input.view());
    return explain_by_accumulator(name, views, ampere.view(), kAmpere, hopper.view(), kHopper).has_value();
  };
  const auto addend = [](float last) {
    std::vector<float> values(kColumns, 0.0F);
    values.back() = last;
    return as_fp32(values, {kColumns});
  };
  const auto batched = [](Tensor tensor) {
    tensor.shape.insert(tensor.shape.begin(), 1);
    return tensor;
  };
  CHECK(explained("aten::addmm", {addend(0), left, right}));
  CHECK_FALSE(explained("aten::addmm", {addend(1), left, right}));
  CHECK_FALSE(explained("aten::addmm", {left, right}));
  CHECK_FALSE(explained("aten::mm", {addend(0), left, right}));
  CHECK_FALSE(explained("aten::mm", {left}));
  const auto of_rank_3 = [](Tensor tensor) {
    tensor.shape.push_back(1);
    return tensor;
  };
  CHECK_FALSE(explained("aten::mm", {of_rank_3(left), right}));
  CHECK_FALSE(explained("aten::mm", {left, of_rank_3(right)}));
  CHECK(explained("aten::bmm", {batched(left), batched(right)}));
  CHECK_FALSE(explained("aten::bmm", {left, right}));
  // Two batches, of which each has the columns of its own.
  Recorded other;
  other.b = factors(kDepth * kColumns, 3);
  const auto both = [](const Tensor& one, const Tensor& two) {
    Tensor tensor = one;
    tensor.shape.insert(tensor.shape.begin(), 2);
    tensor.words.insert(tensor.words.end(), two.words.begin(), two.words.end());
    tensor.halves.insert(tensor.halves.end(), two.halves.begin(), two.halves.end());
    return tensor;
  };
  const Tensor lefts = both(left, left);
  const Tensor rights = both(right, as_bf16(other.b, {kDepth, kColumns}));
  const Tensor amperes = both(ampere, other.output(emulated("sm_80", MmaType::bf16)));
  const Tensor hoppers = both(hopper, other.output(emulated("sm_90", MmaType::bf16)));
  CHECK(explain_by_accumulator("aten::bmm", std::vector{lefts.view(), rights.view()}, amperes.view(), kAmpere,
                               hoppers.view(), kHopper));
  CHECK_FALSE(explained("aten::mm", {batched(left), batched(right)}));
  CHECK_FALSE(explained("aten::mm", {left, as_bf16(recorded.b, {kColumns, kDepth})}));
  CHECK_FALSE(explained("aten::mm", {left, as_fp32(recorded.b, {kDepth, kColumns})}));
}

TEST_CASE("sums that need no cutting tell nothing, so nothing is said", "[verdict]") {
  Recorded recorded;
  for (std::vector<float>* values : {&recorded.a, &recorded.b}) {
    for (float& value : *values) value = value < 0 ? -1.0F : 1.0F;
  }
  const Tensor ampere = recorded.output(emulated("sm_80", MmaType::bf16));
  const Tensor hopper = recorded.output(emulated("sm_90", MmaType::bf16));
  CHECK_FALSE(recorded.explained(ampere, kAmpere, hopper, kHopper));
}

}  // namespace
}  // namespace reprobench
