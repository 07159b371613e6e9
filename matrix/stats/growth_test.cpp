#include "matrix/stats/growth.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

std::vector<double> steps_to(int last) {
  std::vector<double> steps;
  for (int step = 1; step <= last; ++step) steps.push_back(step);
  return steps;
}

TEST_CASE("a random walk of roundings has exponent one half", "[stats]") {
  const std::vector<double> steps = steps_to(100);
  std::vector<double> distances;
  for (const double step : steps) distances.push_back(4.5e-9 * std::sqrt(step));
  const auto result = growth(steps, distances);
  REQUIRE(result);
  CHECK(result->alpha == Approx(0.5));
  CHECK(result->points == 100);
}

TEST_CASE("an exponential amplification has its doubling time", "[stats]") {
  const std::vector<double> steps = steps_to(40);
  std::vector<double> distances;
  for (const double step : steps) distances.push_back(1e-8 * std::exp2(step / 5));
  const auto result = growth(steps, distances);
  REQUIRE(result);
  CHECK(result->doubling_steps == Approx(5));
  CHECK(result->lambda_per_step == Approx(std::log(2.0) / 5));
  CHECK(result->alpha > 1.5);
  for (double& distance : distances) distance = 1 / distance;
  CHECK(growth(steps, distances)->doubling_steps == Approx(-5));
}

TEST_CASE("a distance that stays doubles never", "[stats]") {
  for (const double distance : {1.0, 0.3, 1e-8}) {
    for (const int last : {3, 7, 100}) {
      const std::vector<double> steps = steps_to(last);
      const auto result = growth(steps, std::vector<double>(steps.size(), distance));
      REQUIRE(result);
      CHECK(result->alpha == 0);
      CHECK(result->lambda_per_step == 0);
      CHECK(result->doubling_steps == std::numeric_limits<double>::infinity());
    }
  }
}

TEST_CASE("the slopes are those of least squares", "[stats]") {
  // ln d = 0, 1, 3 at steps 1, 2, 3: by step (3 - 0) / 2; by ln step 0, ln 2, ln 3 the covariance over the variance.
  const auto result = growth(std::vector<double>{1, 2, 3}, std::vector<double>{1, std::exp(1.0), std::exp(3.0)});
  REQUIRE(result);
  CHECK(result->lambda_per_step == Approx(1.5));
  CHECK(result->doubling_steps == Approx(std::log(2.0) / 1.5));
  CHECK(result->alpha == Approx(2.592021));
}

TEST_CASE("steps without a distance are left out, and too few leave no growth", "[stats]") {
  const std::vector<double> steps = {1, 2, 4, 8, 16};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(growth(steps, std::vector<double>{0, 2, 4, nan, 16})->points == 3);
  CHECK(growth(steps, std::vector<double>{0, 2, 4, nan, 16})->alpha == Approx(1));
  CHECK_FALSE(growth(steps, std::vector<double>{0, 2, 4, nan, 0}));
  CHECK_FALSE(growth(steps, std::vector<double>{1, 2}));
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, infinity}) {
    const auto without = growth(steps, std::vector<double>{bad, 2, 4, 8, 16});
    REQUIRE(without);
    CHECK(without->points == 4);
    CHECK(without->alpha == Approx(1));
    CHECK(growth(std::vector<double>{bad, 2, 4, 8, 16}, std::vector<double>{9, 2, 4, 8, 16})->points == 4);
  }
  CHECK_FALSE(growth(std::vector<double>{3, 3, 3}, std::vector<double>{1, 2, 3}));
  // Apart in the logarithm, but not in a square that is a number.
  CHECK_FALSE(growth(std::vector<double>{1e-200, 2e-200, 3e-200}, std::vector<double>{1, 2, 4}));
}

}  // namespace
}  // namespace reprobench
