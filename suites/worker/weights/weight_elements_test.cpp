#include "suites/worker/weights/weight_elements.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <c10/util/Half.h>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

template <class Word>
std::uint32_t bits_of(const char* dtype, Word word) {
  float value = 0;
  widen_or_round(dtype, std::as_bytes(std::span(&word, 1)), std::span(&value, 1));
  return std::bit_cast<std::uint32_t>(value);
}

std::uint32_t rounded(double value) { return bits_of("F64", value); }

TEST_CASE("every F16 is the fp32 number of its value", "[worker][weights]") {
  int unlike = 0;
  for (std::uint32_t half = 0; half < 65'536; ++half) {
    const auto expected = static_cast<float>(c10::Half(static_cast<std::uint16_t>(half), c10::Half::from_bits()));
    const std::uint32_t found = bits_of("F16", static_cast<std::uint16_t>(half));
    const bool is_nan = std::isnan(expected);
    if (is_nan ? !std::isnan(std::bit_cast<float>(found)) : found != std::bit_cast<std::uint32_t>(expected)) ++unlike;
  }
  CHECK(unlike == 0);
}

TEST_CASE("BF16 is the upper half of fp32, F32 itself", "[worker][weights]") {
  CHECK(bits_of("BF16", std::uint16_t{0x3F81}) == 0x3F810000);
  CHECK(bits_of("BF16", std::uint16_t{0x8001}) == 0x80010000);
  CHECK(bits_of("F32", 0x00000001U) == 0x00000001U);
  CHECK(bits_of("F32", 0x7F812345U) == 0x7F812345U);  // a NaN that signals
}

TEST_CASE("F64 is rounded to the nearest fp32, ties to even, as the processor does it", "[worker][weights]") {
  std::vector<double> values = {0.0,
                                -0.0,
                                1,
                                -1,
                                0.1,
                                1e-45,
                                7e-46,
                                7.1e-46,
                                1e-46,
                                1e-300,
                                5e-324,
                                3.4028235e38,
                                3.4028235677973366e38,
                                3.4028235677973362e38,
                                1e39,
                                -1e39,
                                HUGE_VAL,
                                0x1.000001p0,
                                0x1.000003p0,
                                0x1.0000010000001p0,
                                0x1.fffffep-127,
                                0x1.fffffffp-127,
                                0x1p-126,
                                0x1p-149,
                                0x1p-150,
                                0x1.8p-150,
                                0x1.0000000000001p-150,
                                0x1.8p-149};
  std::uint64_t state = 88'172'645'463'325'252ULL;  // xorshift
  for (int i = 0; i < 100'000; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const std::uint64_t exponent = 1023 - 152 + state % 284;  // from below the smallest fp32 to beyond its largest
    values.push_back(std::bit_cast<double>((state & 0x800FFFFFFFFFFFFFULL) | exponent << 52));
  }
  int unlike = 0;
  for (const double value : values) {
    if (rounded(value) != std::bit_cast<std::uint32_t>(static_cast<float>(value))) ++unlike;
  }
  CHECK(unlike == 0);
  CHECK(std::isnan(std::bit_cast<float>(rounded(NAN))));
}

TEST_CASE("other types are not taken", "[worker][weights]") {
  for (const char* dtype : {"I64", "U8", "BOOL", "F8_E4M3", ""}) CHECK(weight_element_bytes(dtype) == 0);
  CHECK(weight_element_bytes("F64") == 8);
  CHECK(weight_element_bytes("BF16") == 2);
  float value = 0;
  const std::uint16_t word = 0;
  CHECK_THROWS(widen_or_round("F32", std::as_bytes(std::span(&word, 1)), std::span(&value, 1)));
}

TEST_CASE("a matrix in pieces is placed where its transpose has it", "[worker][weights]") {
  const std::vector<float> matrix = {1, 2, 3, 4, 5, 6};  // 2 x 3
  for (std::size_t cut = 0; cut <= matrix.size(); ++cut) {
    std::vector<float> transpose(6, 0);
    place_transposed(std::span(matrix).first(cut), 0, 2, 3, transpose.data());
    place_transposed(std::span(matrix).subspan(cut), static_cast<std::int64_t>(cut), 2, 3, transpose.data());
    CHECK(transpose == std::vector<float>{1, 4, 2, 5, 3, 6});
  }
}

TEST_CASE("the first number that is not finite is found", "[worker][weights]") {
  CHECK(first_not_finite(std::vector<float>{1, -2, 0}) == 3);
  CHECK(first_not_finite(std::vector<float>{1, -HUGE_VALF, NAN}) == 1);
  CHECK(first_not_finite(std::vector<float>{NAN}) == 0);
}

}  // namespace
}  // namespace reprobench
