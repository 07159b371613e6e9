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

TEST_CASE("steps without a distance are left out, and too few leave no growth", "[stats]") {
  const std::vector<double> steps = {1, 2, 4, 8, 16};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(growth(steps, std::vector<double>{0, 2, 4, nan, 16})->points == 3);
  CHECK(growth(steps, std::vector<double>{0, 2, 4, nan, 16})->alpha == Approx(1));
  CHECK_FALSE(growth(steps, std::vector<double>{0, 2, 4, nan, 0}));
  CHECK_FALSE(growth(steps, std::vector<double>{1, 2}));
  CHECK_FALSE(growth(std::vector<double>{3, 3, 3}, std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace reprobench
