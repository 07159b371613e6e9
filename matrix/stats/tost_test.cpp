#include "matrix/stats/tost.hpp"

#include <algorithm>
#include <cmath>
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

TEST_CASE("the unpaired test is Welch's", "[stats]") {
  // Means 3 and 6, variances 2.5 and 20/3, counts 5 and 4: parts 0.5 and 5/3, standard error sqrt(13/6) = 1.471960,
  // degrees (13/6)^2 / (0.25 / 4 + (25/9) / 3) = 4.749415; t of these at 0.95 is 2.03877.
  const std::vector<double> measured = {1, 2, 3, 4, 5};
  const std::vector<double> reference = {3, 5, 7, 9};
  const auto result = tost_unpaired(measured, reference, 7);
  REQUIRE(result);
  CHECK(result->difference == Approx(-3));
  CHECK(result->margin == 7);
  CHECK(result->degrees_of_freedom == Approx(4.749415));
  CHECK(result->low == Approx(-3 - 3.00099).epsilon(1e-4));
  CHECK(result->high == Approx(-3 + 3.00099).margin(1e-4));
  CHECK(result->p_value == Approx(0.022112).epsilon(1e-4));
  CHECK(result->equivalent);
  CHECK_FALSE(tost_unpaired(measured, reference, 5.9)->equivalent);
}

TEST_CASE("the paired test's p-value is that of the nearer margin", "[stats]") {
  // Mean 3, standard error sqrt(0.5), margin 5: t = 2 / 0.7071068 = 2.828427 with 4 degrees, P(T > t) = 0.023710.
  const std::vector<double> differences = {1, 2, 3, 4, 5};
  const std::vector<double> zeros(5, 0.0);
  const auto above = tost_paired(differences, zeros, 5);
  CHECK(above->p_value == Approx(0.023710).epsilon(1e-4));
  CHECK(above->margin == 5);
  const auto below = tost_paired(zeros, differences, 5);
  CHECK(below->difference == Approx(-3));
  CHECK(below->p_value == Approx(above->p_value));
  CHECK(tost_paired(differences, zeros, 5, 0.01)->equivalent == false);
}

TEST_CASE("of constant samples nothing is uncertain", "[stats]") {
  const std::vector<double> twos = {2, 2, 2};
  const std::vector<double> ones = {1, 1, 1};
  for (const auto& result : {tost_paired(twos, ones, 1.5), tost_unpaired(twos, ones, 1.5)}) {
    REQUIRE(result);
    CHECK(result->difference == 1);
    CHECK(result->low == 1);
    CHECK(result->high == 1);
    CHECK(result->p_value == 0);
    CHECK(result->equivalent);
  }
  CHECK(tost_paired(twos, ones, 1.5)->degrees_of_freedom == 2);
  CHECK(tost_unpaired(twos, ones, 1.5)->degrees_of_freedom == 4);
  CHECK_FALSE(tost_paired(twos, ones, 1)->equivalent);  // exactly the margin is not within it
  CHECK(tost_paired(twos, ones, 1)->p_value == 1);
  CHECK_FALSE(tost_paired(ones, twos, 1)->equivalent);
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
  CHECK_FALSE(tost_paired(std::vector<double>{1, nan}, std::vector<double>{1, 2}, 1));
  CHECK_FALSE(tost_unpaired(std::vector<double>{1, 2}, std::vector<double>{1, nan}, 1));
  CHECK_FALSE(tost_unpaired(std::vector<double>{1}, std::vector<double>{1, 2}, 1));
  CHECK_FALSE(tost_unpaired(std::vector<double>{1, 2}, std::vector<double>{1}, 1));
  CHECK(tost_unpaired(std::vector<double>{1, 2}, std::vector<double>{1, 2}, 9));  // two are enough
  for (const double margin : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    CHECK_FALSE(tost_paired(std::vector<double>{1, 2}, std::vector<double>{1, 2}, margin));
    CHECK_FALSE(tost_unpaired(std::vector<double>{1, 2}, std::vector<double>{1, 2}, margin));
  }
  for (const double alpha : {0.0, -0.1, 0.5, 0.9, nan}) {
    CHECK_FALSE(tost_paired(std::vector<double>{1, 2}, std::vector<double>{1, 2}, 1, alpha));
    CHECK_FALSE(tost_unpaired(std::vector<double>{1, 2}, std::vector<double>{1, 2}, 1, alpha));
  }
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

TEST_CASE("paired curves are tested seed by seed, with Holm's values", "[stats]") {
  // Seeds differ by 10 %, each seed's pair by a thousandth: only the pairs see it.
  const std::vector<std::vector<double>> reference = {{1.0, 1.1, 1.2, 1.3}, {2.0, 2.1, 2.2, 2.3}};
  auto measured = reference;
  for (auto& window : measured) {
    for (std::size_t seed = 0; seed < window.size(); ++seed) window[seed] += seed % 2 == 0 ? 0.001 : -0.001;
  }
  const auto paired = equivalent_curves(measured, reference, Samples::paired, 0.01);
  REQUIRE(paired);
  REQUIRE(paired->windows.size() == 2);
  CHECK(paired->equivalent);
  CHECK(paired->windows[0].margin == Approx(0.0115));
  const double alone[] = {tost_paired(measured[0], reference[0], 0.0115)->p_value,
                          tost_paired(measured[1], reference[1], 0.0215)->p_value};
  CHECK(alone[1] < alone[0]);
  CHECK(paired->windows[1].p_value == Approx(2 * alone[1]));
  CHECK(paired->windows[0].p_value == Approx(std::max(alone[0], 2 * alone[1])));
  CHECK_FALSE(equivalent_curves(measured, reference, Samples::independent, 0.01)->equivalent);
  CHECK_FALSE(equivalent_curves(measured, std::span(reference).first(1), Samples::paired, 0.01));
  CHECK_FALSE(equivalent_curves(measured, std::vector<std::vector<double>>(2), Samples::paired, 0.01));
  CHECK_FALSE(equivalent_curves(std::vector<std::vector<double>>{{1}}, std::vector<std::vector<double>>{{1}},
                                Samples::paired, 0.01));
}

TEST_CASE("a window that is equivalent alone need not be among others: Holm decides", "[stats]") {
  // Differences -0.01, 0, 0.01: standard error 0.01 / sqrt(3); a margin of 3.3198 of these has p = 0.04 with 2 degrees.
  const std::vector<std::vector<double>> reference(2, {1.0, 1.0, 1.0});
  const std::vector<std::vector<double>> measured(2, {0.99, 1.0, 1.01});
  const double margin_rel = 3.3198 * 0.01 / std::sqrt(3.0);
  const auto one =
      equivalent_curves(std::span(measured).first(1), std::span(reference).first(1), Samples::paired, margin_rel);
  CHECK(one->windows[0].p_value == Approx(0.04).epsilon(1e-3));
  CHECK(one->windows[0].equivalent);
  CHECK(one->equivalent);
  const auto two = equivalent_curves(measured, reference, Samples::paired, margin_rel);
  for (const Equivalence& window : two->windows) {
    CHECK(window.p_value == Approx(0.08).epsilon(1e-3));
    CHECK_FALSE(window.equivalent);
  }
  CHECK_FALSE(two->equivalent);
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
