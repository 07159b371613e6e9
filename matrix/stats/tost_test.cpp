#include "matrix/stats/tost.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("the paired test gives the textbook interval", "[stats]") {
  // Differences 1..5: mean 3, standard error sqrt(2.5 / 5), t(4, 0.95) = 2.131847.
  const std::vector<double> measured = {1, 2, 3, 4, 5};
  const std::vector<double> reference(5, 0.0);
  const auto result = tost_paired(measured, reference, 5);
  REQUIRE(result);
  CHECK(result->difference == Approx(3));
  CHECK(result->low == Approx(3 - 2.131847 * 0.7071068));
  CHECK(result->high == Approx(3 + 2.131847 * 0.7071068));
  CHECK(result->degrees_of_freedom == 4);
  CHECK(result->equivalent);
  CHECK_FALSE(tost_paired(measured, reference, 4.5)->equivalent);
}

TEST_CASE("equivalence is shown exactly where the interval lies within the margin", "[stats]") {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> noise(0.2, 1.0);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> a(6);
    std::vector<double> b(9);
    for (double& value : a) value = noise(generator);
    for (double& value : b) value = noise(generator);
    const auto result = tost_unpaired(a, b, 1.0);
    REQUIRE(result);
    REQUIRE(result->equivalent == (result->low > -1 && result->high < 1));
    REQUIRE(result->degrees_of_freedom <= 13.0 + 1e-9);
  }
}

TEST_CASE("a difference of exactly the margin is called equivalent in at most 5 % of trials", "[stats]") {
  std::mt19937_64 generator(4);
  std::normal_distribution<double> noise(0.0, 0.1);
  int wrong = 0;
  int right = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> at_margin(5);
    std::vector<double> same(5);
    std::vector<double> reference(5);
    for (int i = 0; i < 5; ++i) {
      at_margin[static_cast<std::size_t>(i)] = 0.5 + noise(generator);
      same[static_cast<std::size_t>(i)] = noise(generator);
      reference[static_cast<std::size_t>(i)] = noise(generator);
    }
    wrong += tost_unpaired(at_margin, reference, 0.5)->equivalent;
    right += tost_unpaired(same, reference, 0.5)->equivalent;
  }
  CHECK(wrong <= 130);  // 100 expected, three standard deviations above
  CHECK(right > 1990);
}

TEST_CASE("what cannot be tested is no equivalence", "[stats]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(tost_paired(std::vector<double>{1}, std::vector<double>{1}, 1));
  CHECK_FALSE(tost_paired(std::vector<double>{1, 2}, std::vector<double>{1, 2, 3}, 1));
  CHECK_FALSE(tost_unpaired(std::vector<double>{1, nan}, std::vector<double>{1, 2}, 1));
  CHECK_FALSE(tost_paired(std::vector<double>{1, 2}, std::vector<double>{1, 2}, 0));
  CHECK(tost_paired(std::vector<double>{1, 2}, std::vector<double>{1, 2}, 1)->equivalent);
  CHECK_FALSE(tost_paired(std::vector<double>{3, 4}, std::vector<double>{1, 2}, 1)->equivalent);
}

TEST_CASE("Holm multiplies the smallest p-value most and never lets a later one fall below it", "[stats]") {
  // Holm 1979: 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06.
  const std::vector<double> adjusted = holm_adjusted(std::vector<double>{0.03, 0.01, 0.04, 0.02});
  CHECK(adjusted[0] == Approx(0.06));
  CHECK(adjusted[1] == Approx(0.04));
  CHECK(adjusted[2] == Approx(0.06));
  CHECK(adjusted[3] == Approx(0.06));
  CHECK(holm_adjusted(std::vector<double>{0.9, 0.8}) == std::vector<double>{1.0, 1.0});
  CHECK(holm_adjusted({}).empty());
}

TEST_CASE("loss curves are equivalent only if every window is", "[stats]") {
  std::vector<std::vector<double>> reference;
  for (int window = 0; window < 4; ++window) {
    const double loss = 2.0 - 0.3 * window;
    reference.push_back({loss * 0.9995, loss * 1.0002, loss, loss * 1.0004, loss * 0.9999});
  }
  auto measured = reference;
  for (auto& window : measured) std::rotate(window.begin(), window.begin() + 2, window.end());
  const auto same = equivalent_curves(measured, reference, Samples::independent, 0.005);
  REQUIRE(same);
  CHECK(same->equivalent);
  CHECK(same->windows[3].margin == Approx(0.005 * 1.1));
  for (double& loss : measured[2]) loss *= 1.006;
  const auto shifted = equivalent_curves(measured, reference, Samples::independent, 0.005);
  CHECK_FALSE(shifted->equivalent);
  CHECK(shifted->windows[1].equivalent);
  CHECK_FALSE(shifted->windows[2].equivalent);
  CHECK(shifted->windows[2].low > 0);
  CHECK_FALSE(equivalent_curves({}, {}, Samples::paired, 0.005));
}

}  // namespace
}  // namespace reprobench
