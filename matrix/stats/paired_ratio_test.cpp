#include "matrix/stats/paired_ratio.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/stats/robust.hpp"

namespace reprobench {
namespace {

TEST_CASE("the median of an even number of samples is the mean of the middle two", "[stats]") {
  CHECK(median(std::vector<double>{4, 1, 3, 2}) == 2.5);
  CHECK(median(std::vector<double>{5, 1, 3}) == 3);
  CHECK(median(std::vector<double>{7}) == 7);
  CHECK(median(std::vector<double>{9, -3}) == 3);
  CHECK(median(std::vector<double>{-8, -2, -6, -4}) == -5);
}

TEST_CASE("one wild sample does not move the robust standard deviation", "[stats]") {
  const std::vector<double> calm = {10, 11, 12, 13, 14, 15, 16};
  const std::vector<double> wild = {10, 11, 12, 13, 14, 15, 1e9};
  CHECK(robust_sd(calm) == Approx(1.4826 * 2));
  CHECK(robust_sd(wild) == Approx(1.4826 * 2));
}

TEST_CASE("five pairs are too few for 95 % and six are enough", "[stats]") {
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  CHECK_FALSE(paired_ratio(std::span(six).first(5), std::span(six).first(5)));
  REQUIRE(paired_ratio(six, six));
  CHECK(paired_ratio(six, six)->ratio == 1);
}

TEST_CASE("the interval of six pairs is their whole range, of nine it drops the extremes", "[stats]") {
  const std::vector<double> ones(9, 1.0);
  const std::vector<double> measured = {1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9};
  const auto six = paired_ratio(std::span(measured).first(6), std::span(ones).first(6));
  REQUIRE(six);
  CHECK(six->low == Approx(1.1));
  CHECK(six->high == Approx(1.6));
  const auto nine = paired_ratio(measured, ones);
  REQUIRE(nine);
  CHECK(nine->ratio == Approx(1.5));
  CHECK(nine->low == Approx(1.2));
  CHECK(nine->high == Approx(1.8));
}

TEST_CASE("the ratio is the measured over the reference, pair by pair, whatever their order", "[stats]") {
  const auto result = paired_ratio(std::vector<double>{6, 2, 30, 8, 20, 24}, std::vector<double>{3, 2, 10, 2, 4, 4});
  REQUIRE(result);
  CHECK(result->pairs == 6);
  CHECK(result->ratio == Approx(std::sqrt(3.0 * 4.0)));  // of 1, 2, 3, 4, 5, 6: the median of their logarithms
  CHECK(result->low == Approx(1));
  CHECK(result->high == Approx(6));
}

// Ranks of the sign interval from tables of the binomial distribution with p = 1/2.
TEST_CASE("the interval narrows with pairs and widens with confidence", "[stats]") {
  const auto interval = [](int pairs, double confidence) {
    std::vector<double> measured;
    for (int i = 1; i <= pairs; ++i) measured.push_back(i);
    return paired_ratio(measured, std::vector<double>(measured.size(), 1.0), confidence);
  };
  CHECK(interval(8, 0.95)->low == Approx(1));   // 2 * P(X <= 1) of 8 is 0.0703
  CHECK(interval(9, 0.95)->low == Approx(2));   // of 9 it is 0.0391
  CHECK(interval(12, 0.95)->low == Approx(3));  // 2 * P(X <= 2) of 12 is 0.0386
  CHECK(interval(12, 0.95)->high == Approx(10));
  CHECK(interval(12, 0.99)->low == Approx(2));
  CHECK(interval(1, 0.0001) == std::nullopt);
  CHECK(interval(2, 0.5)->low == Approx(1));
  CHECK(interval(2, 0.5)->high == Approx(2));
  CHECK_FALSE(interval(2, 0.51));
}

TEST_CASE("a missing, zero or non-finite value leaves no ratio", "[stats]") {
  const std::vector<double> good(8, 1.0);
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<double> broken = good;
    broken[3] = bad;
    CHECK_FALSE(paired_ratio(broken, good));
    CHECK_FALSE(paired_ratio(good, broken));
  }
  CHECK_FALSE(paired_ratio(std::span(good).first(7), good));
  CHECK_FALSE(paired_ratio(good, std::span(good).first(7)));
  CHECK_FALSE(paired_ratio({}, {}));
  CHECK_FALSE(paired_ratio(std::vector<double>(8, -1.0), std::vector<double>(8, -1.0)));
}

TEST_CASE("a ratio is judged by its interval, not by its middle", "[stats]") {
  CHECK(judge_ratio({1.10, 1.08, 1.12, 9}, 0.05) == RatioVerdict::worse);
  CHECK(judge_ratio({1.10, 1.02, 1.18, 9}, 0.05) == RatioVerdict::undecided);
  CHECK(judge_ratio({1.01, 0.99, 1.03, 9}, 0.05) == RatioVerdict::equivalent);
  CHECK(judge_ratio({0.90, 0.88, 0.92, 9}, 0.05) == RatioVerdict::better);
  CHECK(judge_ratio({0.96, 0.90, 1.04, 9}, 0.05) == RatioVerdict::equivalent);
}

TEST_CASE("an interval that touches the margin is not beyond it", "[stats]") {
  CHECK(judge_ratio({1.3, 1.25, 1.5, 9}, 0.25) == RatioVerdict::undecided);
  CHECK(judge_ratio({1.1, 1.0, 1.25, 9}, 0.25) == RatioVerdict::equivalent);
  CHECK(judge_ratio({0.7, 0.6, 0.8, 9}, 0.25) == RatioVerdict::equivalent);
  CHECK(judge_ratio({0.7, 0.6, 0.79, 9}, 0.25) == RatioVerdict::better);
}

TEST_CASE("seen from the other side, worse becomes better", "[stats]") {
  const RatioInterval slower{1.10, 1.08, 1.12, 9};
  const RatioInterval inverse = inverted(slower);
  CHECK(inverse.ratio == Approx(1 / 1.10));
  CHECK(inverse.low == Approx(1 / 1.12));
  CHECK(inverse.high == Approx(1 / 1.08));
  CHECK(inverse.pairs == 9);
  CHECK(judge_ratio(inverse, 0.05) == RatioVerdict::better);
}

// Coverage is what the interval promises. 2,000 trials at 95 %: three standard errors are 1.5 %.
TEST_CASE("the interval covers the true ratio as often as it says, also with heavy tails", "[stats]") {
  std::mt19937_64 generator(20260101);
  std::student_t_distribution<double> heavy_tailed(2);
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> measured;
    std::vector<double> reference;
    for (int i = 0; i < 12; ++i) {
      reference.push_back(std::exp(0.02 * heavy_tailed(generator)));
      measured.push_back(1.07 * std::exp(0.02 * heavy_tailed(generator)));
    }
    const auto interval = paired_ratio(measured, reference);
    REQUIRE(interval);
    if (interval->low <= 1.07 && 1.07 <= interval->high) ++covered;
  }
  CHECK(covered >= kTrials * 0.95 - 0.015 * kTrials);
}

TEST_CASE("as many pairs as are called enough have an interval, one less has none", "[stats]") {
  for (const auto& [confidence, fewest] : {std::pair(0.95, 6), {0.975, 7}, {1 - 0.05 / 3, 7}, {0.99, 8}, {0.5, 2}}) {
    INFO(confidence);
    CHECK(fewest_pairs(confidence) == fewest);
    const std::vector<double> ones(static_cast<std::size_t>(fewest), 1.0);
    CHECK(paired_ratio(ones, ones, confidence));
    CHECK_FALSE(
        paired_ratio(std::span(ones).first(ones.size() - 1), std::span(ones).first(ones.size() - 1), confidence));
  }
}

// How often, of pairs whose true ratio is the bound itself, some look at 7, 14 and 28 of them finds an end.
double decided_at_some_look(double confidence) {
  std::mt19937_64 generator(20261123);
  std::cauchy_distribution<double> bursts;
  constexpr int kTrials = 4000;
  int decided = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> measured;
    for (const std::size_t look : {7, 14, 28}) {
      while (measured.size() < look) measured.push_back(1.1 * std::exp(0.02 * bursts(generator)));
      const std::vector<double> ones(look, 1.0);
      const auto ratio = paired_ratio(measured, ones, confidence);  // none of a burst beyond what a double holds
      if (!ratio || judge_ratio(*ratio, 0.1) == RatioVerdict::undecided) continue;
      ++decided;
      break;
    }
  }
  return static_cast<double>(decided) / kTrials;
}

// Exactly: 1.56 + 1.29 + 1.25 % at most, less what two looks find both. 4,000 trials: three standard errors are 1 %.
TEST_CASE("who looks three times at pairs on the bound finds an end in one of twenty, and with 95 % each more often",
          "[stats]") {
  CHECK(decided_at_some_look(1 - 0.05 / 3) < 0.05);
  CHECK(decided_at_some_look(1 - 0.05 / 3) > 0.02);
  CHECK(decided_at_some_look(0.95) > 0.05);
}

}  // namespace
}  // namespace reprobench
