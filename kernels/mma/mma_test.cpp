#include "kernels/mma/mma.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float dot(const char* device_class, MmaType type, const std::vector<float>& a, const std::vector<float>& b) {
  return mma_dot(mma_rule(device_class, type).value(), type, a, b);
}

TEST_CASE("sums that need no cutting are exact on every generation", "[kernels]") {
  const std::vector<float> a{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  const std::vector<float> b(a.size(), 0.5F);
  for (const char* device : {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    CHECK(dot(device, MmaType::fp16, a, b) == 76.5F);
  }
  CHECK(dot("sm_90", MmaType::fp16, {}, {}) == 0.0F);
}

// 2^-10 * 2^-14 is 2^-24: under the last place of Volta's addends beside 1, within Turing's, of which two make an ulp.
TEST_CASE("the width of the addition decides what of a small product counts", "[kernels]") {
  const float tiny = 0x1p-12F;
  const auto beside_one = [&](const char* device, float factor) {
    return dot(device, MmaType::fp16, {1, tiny, tiny, 0}, {1, factor, factor, 0});
  };
  const float one_ulp = 1 + 0x1p-23F;
  CHECK(beside_one("sm_70", 0x1p-11F) == one_ulp + 0x1p-23F);
  CHECK(beside_one("sm_70", 0x1p-12F) == 1.0F);
  CHECK(beside_one("sm_75", 0x1p-12F) == one_ulp);
  CHECK(beside_one("sm_80", 0x1p-12F) == one_ulp);
  CHECK(beside_one("sm_80", 0x1p-13F) == 1.0F);
  CHECK(beside_one("sm_90", 0x1p-12F) == one_ulp);
  const auto four = [&](const char* device) {
    return dot(device, MmaType::fp16, {1, tiny, tiny, tiny, tiny}, {1, 0x1p-13F, 0x1p-13F, 0x1p-13F, 0x1p-13F});
  };
  CHECK(four("sm_80") == 1.0F);
  CHECK(four("sm_90") == one_ulp);
  CHECK(four("sm_100") == one_ulp);
}

TEST_CASE("sums are cut towards zero, negative ones too", "[kernels]") {
  const float almost_an_ulp = 0x1p-24F + 0x1p-25F;  // round to nearest would go up
  CHECK(dot("sm_90", MmaType::bf16, {1, 0x1.8p-12F}, {1, 0x1p-12F}) == 1.0F);
  CHECK(static_cast<double>(almost_an_ulp) == 0x1.8p-24);
  CHECK(dot("sm_90", MmaType::bf16, {-1, 0x1.8p-12F}, {1, -0x1p-12F}) == -1.0F);
}

TEST_CASE("Ampere adds the halves of an instruction one after the other, Hopper all at once", "[kernels]") {
  // The first eight products leave 1; of the small ones in the second half Ampere's two 2^-24 make one ulp, and an
  // addend of 2^-25 is lost eight times over, where Hopper keeps it.
  const auto sixteen = [](const char* device) {
    std::vector<float> a(16, 0.0F);
    a[0] = 1;
    for (std::size_t i = 8; i < 16; ++i) a[i] = 0x1p-12F;
    return dot(device, MmaType::bf16, a, [] {
      std::vector<float> b(16, 0x1p-13F);
      b[0] = 1;
      return b;
    }());
  };
  CHECK(sixteen("sm_80") == 1.0F);
  CHECK(sixteen("sm_90") == 1 + 0x1p-22F);
  // Cancellation inside one instruction is exact at its width; across two the first has been cut.
  std::vector<float> a(16, 0.0F);
  a[0] = 4096;
  a[1] = 0x1p-10F;
  a[8] = -4096;
  const std::vector<float> b(16, 1.0F);
  CHECK(dot("sm_90", MmaType::fp16, a, b) == 0x1p-10F);
  a[0] = 32768;
  a[8] = -32768;
  CHECK(dot("sm_90", MmaType::fp16, a, b) == 0x1p-10F);
  CHECK(dot("sm_80", MmaType::fp16, a, b) == 0.0F);
}

TEST_CASE("tf32 cuts its factors instead of rounding them", "[kernels]") {
  const float above = std::bit_cast<float>(0x3f801fffU);  // all thirteen low bits set
  CHECK(dot("sm_80", MmaType::tf32, {above}, {1}) == 1.0F);
  CHECK(dot("sm_90", MmaType::tf32, {-above}, {1}) == -1.0F);
  CHECK(dot("sm_90", MmaType::tf32, {std::bit_cast<float>(0x3f802000U)}, {1}) == 1 + 0x1p-10F);
}

TEST_CASE("fp8 keeps 13 fraction bits on Ada and Hopper, and all of them on Blackwell", "[kernels]") {
  const std::vector<float> a{1, 0x1p-7F};
  const std::vector<float> b{1, 0x1p-7F};
  CHECK(dot("sm_89", MmaType::fp8_e4m3, a, b) == 1.0F);
  CHECK(dot("sm_90", MmaType::fp8_e4m3, a, b) == 1.0F);
  CHECK(dot("sm_100", MmaType::fp8_e4m3, a, b) == 1 + 0x1p-14F);
}

TEST_CASE("a product's exponent is that of its factors, not its own", "[kernels]") {
  // 1.5 * 1.5 is 2.25, aligned at exponent 0 and not 1, so one more bit of its neighbour counts.
  CHECK(dot("sm_75", MmaType::fp16, {1.5F, 0x1p-12F, 0x1p-11F}, {1.5F, 0x1p-12F, 0x1p-12F}) == 2.25F);
  CHECK(dot("sm_75", MmaType::fp16, {1.5F, 0x1p-12F, 0x1p-12F, 0x1p-11F}, {1.5F, 0x1p-12F, 0x1p-12F, 0x1p-12F}) ==
        2.25F + 0x1p-22F);
}

TEST_CASE("NaN, infinity, overflow and subnormals", "[kernels]") {
  CHECK(std::bit_cast<std::uint32_t>(dot("sm_90", MmaType::bf16, {kInfinity, 0}, {0, 1})) == 0x7fffffffU);
  CHECK(std::bit_cast<std::uint32_t>(dot("sm_90", MmaType::bf16, {kInfinity, -kInfinity}, {1, 1})) == 0x7fffffffU);
  CHECK(dot("sm_90", MmaType::bf16, {kInfinity, 1}, {1, 1}) == kInfinity);
  CHECK(dot("sm_90", MmaType::bf16, {-0x1p127F, -0x1p127F}, {1, 1}) == -kInfinity);
  CHECK(dot("sm_90", MmaType::bf16, {0x1p-100F}, {0x1p-40F}) == 0x1p-140F);
  CHECK(dot("sm_90", MmaType::fp16, {0x1p-24F}, {0x1p-24F}) == 0x1p-48F);
}

TEST_CASE("classes without the instruction have no rule", "[kernels]") {
  CHECK_FALSE(mma_rule("cpu", MmaType::fp16));
  CHECK_FALSE(mma_rule("sm_75", MmaType::bf16));
  CHECK_FALSE(mma_rule("sm_80", MmaType::fp8_e4m3));
  CHECK(mma_rule("sm_80", MmaType::bf16) == mma_rule("sm_89", MmaType::bf16));
  CHECK_FALSE(mma_rule("sm_80", MmaType::bf16) == mma_rule("sm_90", MmaType::bf16));
}

}  // namespace
}  // namespace reprobench
