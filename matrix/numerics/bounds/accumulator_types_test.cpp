// Products of every type of factor and of other extents, and sides that another sum explains as well.
#include <bit>
#include <cmath>

#include "ci/catch.hpp"
#include "kernels/diff/diff.hpp"
#include "kernels/mma/mma.hpp"
#include "matrix/numerics/bounds/accumulator.hpp"

namespace reprobench {
namespace {

// m x k by k x n, every factor by its bits.
struct Multiplied {
  std::string dtype;
  ElementType type;
  std::int64_t m, k, n;
  std::vector<std::uint64_t> a{}, b{};

  // Bits of finite values of the type: of eight bits any, else small whole numbers with a fraction.
  void fill() {
    std::uint32_t seed = 7;
    const auto next = [&] { return seed = seed * 1664525U + 1013904223U; };
    for (auto* factors : {&a, &b}) {
      for (std::int64_t i = 0; i < (factors == &a ? m * k : k * n); ++i) {
        const std::size_t bits = 8 * element_bytes(type);
        std::uint64_t one = next() >> (32 - std::min<std::size_t>(bits, 32));
        // An exponent near that of 1, so that products neither vanish nor leave the type.
        if (bits == 8) one = (one & 0x9f) | 0x20;
        if (bits == 16) one = (one & 0x87ff) | 0x3800;
        if (bits == 32) one = (one & 0x80ffe000) | 0x3f000000;
        factors->push_back(one);
      }
    }
  }
  std::vector<std::byte> stored(const std::vector<std::uint64_t>& factors) const {
    std::vector<std::byte> bytes;
    for (const std::uint64_t bits : factors) {
      for (std::size_t byte = 0; byte < element_bytes(type); ++byte) bytes.push_back(std::byte(bits >> (8 * byte)));
    }
    return bytes;
  }
  std::vector<std::byte> output(const char* device, MmaType of) const {
    const MmaRule rule = mma_rule(device, of).value();
    std::vector<std::byte> bytes;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::vector<float> row, column;
        for (std::int64_t l = 0; l < k; ++l) {
          row.push_back(static_cast<float>(element_value(type, a[static_cast<std::size_t>(i * k + l)])));
          column.push_back(static_cast<float>(element_value(type, b[static_cast<std::size_t>(l * n + j)])));
        }
        const auto bits = std::bit_cast<std::uint32_t>(mma_dot(rule, of, row, column));
        for (int byte = 0; byte < 4; ++byte) bytes.push_back(std::byte(bits >> (8 * byte)));
      }
    }
    return bytes;
  }
  std::optional<AccumulatorFit> explained(const ProductSide& ours, const std::vector<std::byte>& measured,
                                          const ProductSide& theirs, const std::vector<std::byte>& expected,
                                          std::vector<std::int64_t> shape = {}) const {
    const auto left = stored(a);
    const auto right = stored(b);
    const std::vector<TensorView> inputs{{"a", dtype, {m, k}, left, 0}, {"b", dtype, {k, n}, right, 0}};
    const TensorView made{"x", "F32", {m, n}, measured, 0};
    const TensorView other{"x", "F32", shape.empty() ? made.shape : shape, expected, 0};
    return explain_by_accumulator("aten::mm", inputs, made, ours, other, theirs);
  }
};

TEST_CASE("factors of every type that tensor cores take are emulated by the rule of their own type", "[verdict]") {
  struct Row {
    const char* dtype;
    ElementType stored;
    MmaType type;
    const char* ours;
    const char* theirs;
    const char* rules;
  };
  for (const Row& row : {
           Row{"F16", ElementType::fp16, MmaType::fp16, "sm_80", "sm_90",
               "sm_80 adds 8 products at 24 fraction bits, sm_90 adds 16 products at 25 fraction bits"},
           Row{"F32", ElementType::fp32, MmaType::tf32, "sm_80", "sm_90",
               "sm_80 adds 4 products at 24 fraction bits, sm_90 adds 8 products at 25 fraction bits"},
           Row{"F8_E4M3", ElementType::fp8_e4m3fn, MmaType::fp8_e4m3, "sm_90", "sm_100",
               "sm_90 adds 32 products at 13 fraction bits, sm_100 adds 32 products at 25 fraction bits"},
           Row{"F8_E5M2", ElementType::fp8_e5m2, MmaType::fp8_e5m2, "sm_89", "sm_100",
               "sm_89 adds 16 products at 13 fraction bits, sm_100 adds 32 products at 25 fraction bits"},
       }) {
    INFO(row.dtype);
    Multiplied product{row.dtype, row.stored, 40, 96, 12};
    product.fill();
    const auto measured = product.output(row.ours, row.type);
    const auto expected = product.output(row.theirs, row.type);
    const auto fit = product.explained({row.ours, true}, measured, {row.theirs, true}, expected);
    const bool is_eight_bits = element_bytes(row.stored) == 1;
    // Of eight bits a sum in fp32 is exact, as the newer rule is: nothing tells them apart, and nothing is said.
    REQUIRE(fit.has_value() == !is_eight_bits);
    if (is_eight_bits) continue;
    CHECK_THAT(fit->sentence, Catch::Contains(row.rules));
    // Products in fp32 are no tensor core's unless both sides were allowed TF32.
    const bool needs_tf32 = row.type == MmaType::tf32;
    CHECK(product.explained({row.ours, false}, measured, {row.theirs, true}, expected).has_value() == !needs_tf32);
    CHECK(product.explained({row.ours, true}, measured, {row.theirs, false}, expected).has_value() == !needs_tf32);
  }
}

TEST_CASE("two rules of eight bits that both cut are told apart", "[verdict]") {
  for (const auto& [dtype, stored, type] : {std::tuple{"F8_E4M3", ElementType::fp8_e4m3fn, MmaType::fp8_e4m3},
                                            std::tuple{"F8_E5M2", ElementType::fp8_e5m2, MmaType::fp8_e5m2}}) {
    INFO(dtype);
    Multiplied product{dtype, stored, 40, 256, 12};
    product.fill();
    const auto fit = product.explained({"sm_89", false}, product.output("sm_89", type), {"sm_90", false},
                                       product.output("sm_90", type));
    REQUIRE(fit);
    CHECK_THAT(fit->sentence, Catch::Contains("sm_89 adds 16 products at 13 fraction bits, sm_90 adds 32 products"));
  }
}

TEST_CASE("a product that is longer than it is deep is emulated row by row", "[verdict]") {
  Multiplied product{"BF16", ElementType::bf16, 90, 32, 7};
  product.fill();
  const auto ampere = product.output("sm_80", MmaType::bf16);
  const auto hopper = product.output("sm_90", MmaType::bf16);
  const auto fit = product.explained({"sm_80", false}, ampere, {"sm_90", false}, hopper);
  REQUIRE(fit);
  CHECK(fit->elements == 630);
  // Outputs of other shapes are not of one product, whichever is the longer one.
  CHECK_FALSE(product.explained({"sm_80", false}, ampere, {"sm_90", false}, hopper, {7, 90}));
  CHECK_FALSE(product.explained({"sm_80", false}, ampere, {"sm_90", false}, hopper, {630}));
  CHECK_FALSE(product.explained({"sm_80", false}, ampere, {"sm_90", false}, hopper, {91, 7}));
}

// 1 + x - 1 with x = 1.5 2^-24: Hopper keeps all of x, as an exact sum does; Ampere cuts it to 2^-24, and fp32 rounds
// it to 2^-23. So what Hopper made may be an exact sum as well, and nothing is said of either side.
TEST_CASE("a side that an exact sum explains as well is not explained by its accumulator", "[verdict]") {
  Multiplied product{"BF16", ElementType::bf16, 20, 8, 5};
  const std::uint64_t one = 0x3f80, minus_one = 0xbf80;
  const std::uint64_t small = 0x39c0;  // 1.5 2^-12
  const std::uint64_t tiny = 0x3980;   // 2^-12
  for (std::int64_t i = 0; i < product.m; ++i) {
    for (const std::uint64_t bits : {one, small, minus_one, std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0},
                                     std::uint64_t{0}, std::uint64_t{0}}) {
      product.a.push_back(bits);
    }
  }
  for (std::int64_t l = 0; l < product.k; ++l) {
    for (std::int64_t j = 0; j < product.n; ++j) product.b.push_back(l == 1 ? tiny : one);
  }
  const auto ampere = product.output("sm_80", MmaType::bf16);
  const auto hopper = product.output("sm_90", MmaType::bf16);
  CHECK(ampere != hopper);
  CHECK_FALSE(product.explained({"sm_80", false}, ampere, {"sm_90", false}, hopper));
  CHECK_FALSE(product.explained({"sm_90", false}, hopper, {"sm_80", false}, ampere));
}

}  // namespace
}  // namespace reprobench
