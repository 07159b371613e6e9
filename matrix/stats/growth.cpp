#include "matrix/stats/growth.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace reprobench {
namespace {

// Least-squares slope; nothing if all x are equal. Counted from the first y, so that a y that stays has a slope of
// exactly 0.
std::optional<double> slope(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  double mean_x = 0;
  for (const double value : x) mean_x += value / count;
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    covariance += (x[i] - mean_x) * (y[i] - y[0]);
    variance += (x[i] - mean_x) * (x[i] - mean_x);
  }
  if (variance <= 0) return std::nullopt;
  return covariance / variance;
}

}  // namespace

std::optional<Growth> growth(std::span<const double> steps, std::span<const double> distances) {
  if (steps.size() != distances.size()) return std::nullopt;
  std::vector<double> step;
  std::vector<double> log_step;
  std::vector<double> log_distance;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!(distances[i] > 0) || !std::isfinite(distances[i]) || !(steps[i] > 0) || !std::isfinite(steps[i])) continue;
    step.push_back(steps[i]);
    log_step.push_back(std::log(steps[i]));
    log_distance.push_back(std::log(distances[i]));
  }
  if (step.size() < 3) return std::nullopt;
  const auto alpha = slope(log_step, log_distance);
  const auto lambda = slope(step, log_distance);
  if (!alpha || !lambda) return std::nullopt;
  Growth result;
  result.alpha = *alpha;
  result.lambda_per_step = *lambda;
  result.doubling_steps = *lambda == 0 ? std::numeric_limits<double>::infinity() : std::log(2.0) / *lambda;
  result.points = static_cast<int>(step.size());
  return result;
}

}  // namespace reprobench
