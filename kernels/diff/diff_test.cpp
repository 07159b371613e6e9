#include "kernels/diff/diff.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "ci/catch.hpp"
#include "kernels/philox/philox.hpp"

namespace reprobench {
namespace {

constexpr double kDiffInf = std::numeric_limits<double>::infinity();

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = philox4x32_10({{static_cast<std::uint32_t>(i), seed, 0, 0}}, {{7, 0}}).word[0];
    values[i] = static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31f;
  }
  return values;
}

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

Difference diff_of(const std::vector<float>& a, const std::vector<float>& b) {
  return diff(ElementType::fp32, bytes_of(a), bytes_of(b));
}

TEST_CASE("equal tensors differ nowhere, whatever they hold", "[diff]") {
  std::vector<float> values = random_floats(1000, 1);
  values[3] = from_bits(0x7fc01234);
  values[7] = -0.0f;
  values[11] = -std::numeric_limits<float>::infinity();
  values[13] = std::numeric_limits<float>::denorm_min();
  const Difference result = diff_of(values, values);
  CHECK(result.equal_bits());
  CHECK(result.count == 1000);
  CHECK_FALSE(result.first);
  CHECK_FALSE(result.largest);
  CHECK(result.first_block == -1);
  CHECK(result.ulp_histogram[0] == 998);
  CHECK(result.difference_squares == 0);
  CHECK(result.reference_squares > 0);
}

TEST_CASE("one nudged element is found with its bits, its block and its distance", "[diff]") {
  const std::vector<float> reference = random_floats(50'000, 2);
  for (const std::size_t index : {0u, 15u, 16u, 16'383u, 16'384u, 49'999u}) {
    std::vector<float> values = reference;
    values[index] = std::nextafter(values[index], 10.0f);
    const Difference result = diff_of(values, reference);
    CHECK(result.differing == 1);
    REQUIRE(result.first);
    CHECK(result.first->index == static_cast<std::int64_t>(index));
    CHECK(result.first->bits_a == std::bit_cast<std::uint32_t>(values[index]));
    CHECK(result.first->bits_b == std::bit_cast<std::uint32_t>(reference[index]));
    CHECK(result.first->ulp == 1u);
    CHECK(result.first_block == static_cast<std::int64_t>(index / 16'384));
    CHECK(result.ulp_histogram[0] == 49'999);
    CHECK(result.ulp_histogram[1] == 1);
    CHECK(result.max_abs == std::fabs(double{values[index]} - double{reference[index]}));
    CHECK(result.difference_squares == result.max_abs * result.max_abs);
  }
}

TEST_CASE("the first and the largest difference are told apart", "[diff]") {
  std::vector<float> reference(64, 1.0f);
  std::vector<float> values = reference;
  values[5] = from_bits(0x3f800001);
  values[40] = from_bits(0x3f800007);
  values[50] = from_bits(0x3f800007);
  const Difference result = diff_of(values, reference);
  CHECK(result.first->index == 5);
  CHECK(result.largest->index == 40);
  CHECK(result.largest->ulp == 7u);
  CHECK(result.ulp_histogram[1] == 1);
  CHECK(result.ulp_histogram[3] == 2);
}

TEST_CASE("distances run through zero and through the subnormals", "[diff]") {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const Difference result = diff_of({tiny, 0.0f, 0.0f, -tiny}, {-tiny, -0.0f, tiny, -0.0f});
  CHECK(result.differing == 4);
  CHECK(result.zero_signs == 1);
  CHECK(result.first->ulp == 2u);
  CHECK(result.ulp_histogram[0] == 1);
  CHECK(result.ulp_histogram[1] == 2);
  CHECK(result.ulp_histogram[2] == 1);
  const Difference ends = diff(ElementType::fp64, bytes_of(std::vector{-std::numeric_limits<double>::max()}),
                               bytes_of(std::vector{std::numeric_limits<double>::max()}));
  CHECK(ends.largest->ulp == 2 * 0x7fef'ffff'ffff'ffffull);
}

TEST_CASE("NaN and infinity are counted apart and kept out of the sums", "[diff]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Difference result =
      diff_of({nan, 1, inf, 1, inf, nan, from_bits(0x7fc00001), 3}, {1, nan, 1, -inf, -inf, inf, nan, 2});
  CHECK(result.nan_mismatches == 3);
  CHECK(result.inf_mismatches == 3);
  CHECK(result.nan_payloads == 1);
  CHECK(result.differing == 8);
  CHECK_FALSE(result.first->ulp);
  CHECK(result.largest->index == 7);
  CHECK(result.difference_squares == 1);
  CHECK(result.reference_squares == 4);
  CHECK(result.max_abs == 1);
}

TEST_CASE("an empty tensor is equal to an empty one", "[diff]") {
  for (const ElementType type : {ElementType::fp64, ElementType::fp8_e5m2, ElementType::raw32}) {
    const Difference result = diff(type, {}, {});
    CHECK(result.equal_bits());
    CHECK(result.count == 0);
  }
}

TEST_CASE("sizes that do not fit are refused", "[diff]") {
  const std::vector<std::uint8_t> six(6);
  const std::vector<std::uint8_t> eight(8);
  CHECK_THROWS_AS(diff(ElementType::fp32, bytes_of(six), bytes_of(eight)), std::invalid_argument);
  CHECK_THROWS_AS(diff(ElementType::fp32, bytes_of(six), bytes_of(six)), std::invalid_argument);
  CHECK_THROWS_AS(error_sums(ElementType::fp32, bytes_of(eight), ElementType::fp64, bytes_of(eight)),
                  std::invalid_argument);
  CHECK_THROWS_AS(error_sums(ElementType::raw8, bytes_of(eight), ElementType::raw8, bytes_of(eight)),
                  std::invalid_argument);
}

TEST_CASE("raw types are compared by bits alone", "[diff]") {
  std::vector<std::int64_t> values(100, 5);
  std::vector<std::int64_t> reference = values;
  values[77] = -1;
  values[99] = 6;
  const Difference result = diff(ElementType::raw64, bytes_of(values), bytes_of(reference));
  CHECK(result.differing == 2);
  CHECK(result.first->index == 77);
  CHECK(result.first->bits_a == ~0ull);
  CHECK_FALSE(result.first->ulp);
  CHECK(result.difference_squares == 0);
}

TEST_CASE("an unaligned tensor gives the same result as an aligned one", "[diff]") {
  const std::vector<float> a = random_floats(333, 3);
  const std::vector<float> b = random_floats(333, 4);
  std::vector<std::byte> moved(333 * 4 + 1);
  std::memcpy(moved.data() + 1, a.data(), 333 * 4);
  const Difference expected = diff_of(a, b);
  const Difference result = diff(ElementType::fp32, std::span(moved).subspan(1), bytes_of(b));
  CHECK(result.ulp_histogram == expected.ulp_histogram);
  CHECK(result.difference_squares == expected.difference_squares);
}

TEST_CASE("the sums are those of 16 strided lanes added in order", "[diff]") {
  const std::vector<float> a = random_floats(1003, 5);
  const std::vector<float> b = random_floats(1003, 6);
  double lanes[16] = {};
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    lanes[i % 16] += difference * difference;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  CHECK(diff_of(a, b).difference_squares == sum);
  std::vector<double> exact(b.begin(), b.end());
  const ErrorSums errors = error_sums(ElementType::fp32, bytes_of(a), ElementType::fp64, bytes_of(exact));
  CHECK(errors.error_squares == sum);
  CHECK(errors.reference_squares == diff_of(a, b).reference_squares);
  CHECK(errors.max_abs_error == diff_of(a, b).max_abs);
}

TEST_CASE("small formats have the values of their definitions", "[diff]") {
  CHECK(element_value(ElementType::bf16, 0x3f80) == 1);
  CHECK(element_value(ElementType::bf16, 0x0001) == 0x1p-133);
  CHECK(element_value(ElementType::bf16, 0xff80) == -kDiffInf);
  CHECK(element_value(ElementType::fp16, 0x3c00) == 1);
  CHECK(element_value(ElementType::fp16, 0x7bff) == 65504);
  CHECK(element_value(ElementType::fp16, 0x8001) == -0x1p-24);
  CHECK(element_value(ElementType::fp16, 0x7c00) == kDiffInf);
  CHECK(std::isnan(element_value(ElementType::fp16, 0x7c01)));
  // OCP 8-bit floating point specification, table 2.
  CHECK(element_value(ElementType::fp8_e4m3fn, 0x7e) == 448);
  CHECK(element_value(ElementType::fp8_e4m3fn, 0x78) == 256);
  CHECK(element_value(ElementType::fp8_e4m3fn, 0x01) == 0x1p-9);
  CHECK(std::isnan(element_value(ElementType::fp8_e4m3fn, 0xff)));
  CHECK(element_value(ElementType::fp8_e5m2, 0x7b) == 57344);
  CHECK(element_value(ElementType::fp8_e5m2, 0x01) == 0x1p-16);
  CHECK(element_value(ElementType::fp8_e5m2, 0x7c) == kDiffInf);
  CHECK(std::isnan(element_value(ElementType::fp8_e5m2, 0x7d)));
}

TEST_CASE("every pair of 8-bit elements is judged as its values say", "[diff]") {
  for (const ElementType type : {ElementType::fp8_e4m3fn, ElementType::fp8_e5m2}) {
    for (unsigned a = 0; a < 256; ++a) {
      const std::vector<std::uint8_t> left(256, static_cast<std::uint8_t>(a));
      std::vector<std::uint8_t> right(256);
      std::int64_t nans = 0;
      std::int64_t infs = 0;
      double squares = 0;
      const double x = element_value(type, a);
      for (unsigned b = 0; b < 256; ++b) {
        right[b] = static_cast<std::uint8_t>(b);
        const double y = element_value(type, b);
        nans += std::isnan(x) != std::isnan(y);
        infs += a != b && !std::isnan(x) && !std::isnan(y) && (std::isinf(x) || std::isinf(y));
        if (std::isfinite(x) && std::isfinite(y)) squares += (x - y) * (x - y);
      }
      const Difference result = diff(type, bytes_of(left), bytes_of(right));
      REQUIRE(result.differing == 255);
      REQUIRE(result.nan_mismatches == nans);
      REQUIRE(result.inf_mismatches == infs);
      REQUIRE(result.difference_squares == Approx(squares));
    }
  }
}

TEST_CASE("errors against fp64 leave out and count what is not finite", "[diff]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<float> x(40, 1.5f);
  std::vector<double> h(40, 1.0);
  x[0] = static_cast<float>(nan);
  h[1] = nan;
  x[2] = static_cast<float>(nan), h[2] = nan;
  x[3] = static_cast<float>(kDiffInf), h[3] = kDiffInf;
  x[39] = static_cast<float>(kDiffInf);
  const ErrorSums errors = error_sums(ElementType::fp32, bytes_of(x), ElementType::fp64, bytes_of(h));
  CHECK(errors.count == 40);
  CHECK(errors.nan_mismatches == 2);
  CHECK(errors.inf_mismatches == 1);
  CHECK(errors.error_squares == 35 * 0.25);
  CHECK(errors.reference_squares == 35);
  CHECK(errors.max_abs_error == 0.5);
  CHECK(errors.max_abs_reference == 1);
}

TEST_CASE("tensors read by pieces differ to the bit as they do in one", "[diff]") {
  constexpr std::size_t kPieceBytes = 3 * kDiffBlockBytes;
  const std::vector<float> reference = random_floats(200'003, 5);
  std::vector<float> values = reference;
  for (std::size_t i = 90; i < values.size(); i += 37'001) values[i] = std::nextafter(values[i], 2.0f);
  values[150'000] = from_bits(0x7fc01234);
  for (const ElementType type : {ElementType::fp32, ElementType::raw32, ElementType::bf16}) {
    const Difference whole = diff(type, bytes_of(values), bytes_of(reference));
    std::size_t offset = 0;
    const Difference pieces = diff(type, [&]() -> DiffPiece {
      const std::size_t size = std::min(kPieceBytes, values.size() * sizeof(float) - offset);
      const DiffPiece piece{bytes_of(values).subspan(offset, size), bytes_of(reference).subspan(offset, size)};
      offset += size;
      return piece;
    });
    CHECK(whole.differing == (type == ElementType::bf16 ? pieces.differing : 7));
    CHECK(pieces.count == whole.count);
    CHECK(pieces.differing == whole.differing);
    CHECK(pieces.first_block == whole.first_block);
    CHECK(pieces.first->index == whole.first->index);
    CHECK(pieces.nan_mismatches == whole.nan_mismatches);
    CHECK(pieces.ulp_histogram == whole.ulp_histogram);
    CHECK(pieces.max_abs == whole.max_abs);
    CHECK(pieces.difference_squares == whole.difference_squares);
    CHECK(pieces.reference_squares == whole.reference_squares);
  }
}

TEST_CASE("a piece that ends within a block, with more to come, is refused", "[diff]") {
  const std::vector<float> values = random_floats(64, 6);
  int pieces = 2;
  CHECK_THROWS_AS(diff(ElementType::fp32,
                       [&] {
                         return pieces-- > 0 ? DiffPiece{bytes_of(values), bytes_of(values)} : DiffPiece{};
                       }),
                  std::invalid_argument);
}

}  // namespace
}  // namespace reprobench
