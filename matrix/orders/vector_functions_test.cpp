// Exponentials at the ends of what fp32 holds, where a power of two by itself would leave its range.
#include "matrix/orders/vector_functions.hpp"

#include <cmath>
#include <limits>

#include "ci/catch.hpp"

namespace reprobench {
namespace vector_functions_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_CASE("vector code's exponential is near the exact one among subnormal and among the largest numbers", "[formed]") {
  const auto [first, last] = GENERATE(table<float, float>({{-103.9F, -87}, {80, 88.72F}}));
  for (float x = first; x < last; x += 0.37F) {
    CAPTURE(x);
    const double exact = std::exp(static_cast<double>(x));
    CHECK(std::abs(sleef_exp(x) - exact) < 1.01 * 0x1p-23 * exact + 0x1p-149);
    if (x > 0) CHECK(std::abs(short_exp(x) - exact) < 20 * 0x1p-23 * exact);
  }
}

TEST_CASE("vector code's exponential has an end on either side", "[formed]") {
  CHECK(sleef_exp(88.8F) == kInfinity);
  CHECK(sleef_exp(101) == kInfinity);
  CHECK(sleef_exp(-104) == 0);
  CHECK(sleef_exp(-1000) == 0);
  CHECK(sleef_exp(-103.5F) > 0);
  // As ATen's does, the short one gives 0 from the smallest normal power of two on: it takes half of that power.
  CHECK(short_exp(-86.9F) > 0);
  CHECK(short_exp(-87.1F) == 0);
  CHECK(short_exp(-87.4F) == 0);
  CHECK(short_exp(1000) == short_exp(88.75F));
  CHECK(std::isnan(short_exp(std::nanf(""))));
}

}  // namespace
}  // namespace vector_functions_test
}  // namespace reprobench
