#include "matrix/stats/paired_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/math/distributions/binomial.hpp>

#include "matrix/stats/robust.hpp"

namespace reprobench {
namespace {

// The rank k (from 1) such that the k-th smallest and k-th largest of n samples enclose the median with `confidence`; 0
// if even the extremes do not.
int sign_interval_rank(int n, double confidence) {
  const boost::math::binomial_distribution<double> fair_coin(n, 0.5);
  int rank = 0;
  while (rank < n / 2 && 1 - 2 * boost::math::cdf(fair_coin, rank) >= confidence) ++rank;
  return rank;
}

}  // namespace

std::optional<RatioInterval> paired_ratio(std::span<const double> measured, std::span<const double> reference,
                                          double confidence) {
  if (measured.size() != reference.size()) return std::nullopt;
  std::vector<double> log_ratios;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double log_ratio = std::log(measured[i] / reference[i]);
    if (!(measured[i] > 0) || !std::isfinite(log_ratio)) return std::nullopt;  // nor for a reference of 0 or below
    log_ratios.push_back(log_ratio);
  }
  const int n = static_cast<int>(log_ratios.size());
  const int rank = sign_interval_rank(n, confidence);
  if (rank == 0) return std::nullopt;
  std::sort(log_ratios.begin(), log_ratios.end());
  return RatioInterval{std::exp(median(log_ratios)), std::exp(log_ratios[static_cast<std::size_t>(rank - 1)]),
                       std::exp(log_ratios[static_cast<std::size_t>(n - rank)]), n};
}

int fewest_pairs(double confidence) {
  // All n lie on one side of the median with probability 2 / 2^n.
  return static_cast<int>(std::ceil(1 - std::log2(1 - confidence)));
}

RatioVerdict judge_ratio(const RatioInterval& interval, double margin) {
  const double limit = 1 + margin;
  if (interval.low > limit) return RatioVerdict::worse;
  if (interval.high > limit) return RatioVerdict::undecided;
  return interval.high < 1 / limit ? RatioVerdict::better : RatioVerdict::equivalent;
}

RatioInterval inverted(const RatioInterval& interval) {
  return {1 / interval.ratio, 1 / interval.high, 1 / interval.low, interval.pairs};
}

}  // namespace reprobench
