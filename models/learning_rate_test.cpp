#include "models/learning_rate.hpp"

#include <cmath>
#include <numbers>

#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench {
namespace {

TEST_CASE("our cosine is that of the mathematical library to the last bits", "[models]") {
  for (int i = 0; i <= 1000; ++i) {
    const double x = i / 1000.0;
    CHECK(std::abs(cosine_of_half_turns(x) - std::cos(std::numbers::pi * x)) < 4e-16);
  }
  CHECK(cosine_of_half_turns(0) == 1);
  CHECK(cosine_of_half_turns(0.5) == 0);
  CHECK(cosine_of_half_turns(1) == -1);
}

TEST_CASE("a constant rate is the optimizer's, exactly, at every step", "[models]") {
  for (const std::int64_t step : {1, 7, 100}) {
    CHECK(learning_rate(AdamSettings{6e-4}, ConstantRate{}, step, 100) == 6e-4);
    CHECK(learning_rate(SgdSettings{0.3}, ConstantRate{}, step, 100) == 0.3);
  }
}

TEST_CASE("a warm-up rises by equal parts to the optimizer's rate, and a cosine falls to its share", "[models]") {
  const OptimizerSettings adamw = AdamWSettings{{.learning_rate = 8e-4}};
  const RateSchedule schedule = WarmupCosine{4, 0.1};
  const auto rate = [&](std::int64_t step) { return learning_rate(adamw, schedule, step, 24); };
  CHECK(rate(1) == Approx(2e-4));
  CHECK(rate(2) == Approx(4e-4));
  CHECK(rate(4) == 8e-4);
  CHECK(rate(14) == Approx(8e-4 * 0.55));  // half way down
  CHECK(rate(9) == Approx(8e-4 * (0.1 + 0.9 * 0.5 * (1 + std::cos(std::numbers::pi / 4)))));
  CHECK(rate(24) == Approx(8e-5).epsilon(1e-15));
  for (std::int64_t step = 5; step <= 24; ++step) CHECK(rate(step) < rate(step - 1));
}

TEST_CASE("a run that is no longer than its warm-up stays in it, and none starts without one at the full rate",
          "[models]") {
  CHECK(learning_rate(SgdSettings{1.0}, WarmupCosine{10, 0}, 5, 5) == 0.5);
  CHECK(learning_rate(SgdSettings{1.0}, WarmupCosine{10, 0}, 10, 10) == 1.0);
  CHECK(learning_rate(SgdSettings{1.0}, WarmupCosine{0, 0}, 10, 10) == 0.0);
  CHECK(learning_rate(SgdSettings{1.0}, WarmupCosine{0, 0}, 5, 10) == 0.5);
}

TEST_CASE("the usual rules of decay tell a matrix from a bias", "[models]") {
  const ParameterSpec weight{"fc.weight", {4, 3}, 1};
  const ParameterSpec bias{"fc.bias", {4}, 0};
  CHECK(decays_matrices(weight));
  CHECK_FALSE(decays_matrices(bias));
  CHECK(decays_everything(bias));
}

}  // namespace
}  // namespace reprobench
