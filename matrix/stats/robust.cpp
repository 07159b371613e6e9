#include "matrix/stats/robust.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace reprobench {

double median(std::span<const double> samples) {
  assert(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2 == 1) return *middle;
  return (*std::max_element(sorted.begin(), middle) + *middle) / 2;
}

double percentile(std::span<const double> samples, double share) {
  assert(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  const auto place = static_cast<std::ptrdiff_t>(std::ceil(share * static_cast<double>(sorted.size()))) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + place, sorted.end());
  return sorted[static_cast<std::size_t>(place)];
}

double robust_sd(std::span<const double> samples) {
  constexpr double kNormalConsistency = 1.4826;  // 1 / quantile of the standard normal at 3/4
  const double center = median(samples);
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples) deviations.push_back(std::abs(sample - center));
  return kNormalConsistency * median(deviations);
}

}  // namespace reprobench
