#include "matrix/stats/tost.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

namespace reprobench {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;  // unbiased
  double count = 0;
};

Moments moments(std::span<const double> values) {
  Moments result;
  result.count = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / result.count;
  for (const double value : values) result.variance += (value - result.mean) * (value - result.mean);
  result.variance /= result.count - 1;
  return result;
}

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

bool valid(double margin, double alpha) { return margin > 0 && std::isfinite(margin) && alpha > 0 && alpha < 0.5; }

Equivalence two_one_sided(double difference, double standard_error, double degrees, double margin, double alpha) {
  Equivalence result;
  result.difference = difference;
  result.margin = margin;
  result.degrees_of_freedom = degrees;
  if (standard_error == 0) {
    // Constant samples: nothing is uncertain.
    result.low = result.high = difference;
    result.equivalent = std::fabs(difference) < margin;
    result.p_value = result.equivalent ? 0 : 1;
    return result;
  }
  const boost::math::students_t distribution(degrees);
  const double reach = boost::math::quantile(complement(distribution, alpha)) * standard_error;
  result.low = difference - reach;
  result.high = difference + reach;
  // The nearer margin gives the larger p-value.
  result.p_value = boost::math::cdf(complement(distribution, (margin - std::fabs(difference)) / standard_error));
  result.equivalent = result.p_value <= alpha;
  return result;
}

}  // namespace

std::optional<Equivalence> tost_paired(std::span<const double> measured, std::span<const double> reference,
                                       double margin, double alpha) {
  if (measured.size() != reference.size() || measured.size() < 2 || !valid(margin, alpha)) return std::nullopt;
  std::vector<double> differences(measured.size());
  for (std::size_t i = 0; i < measured.size(); ++i) differences[i] = measured[i] - reference[i];
  if (!all_finite(differences)) return std::nullopt;
  const Moments m = moments(differences);
  return two_one_sided(m.mean, std::sqrt(m.variance / m.count), m.count - 1, margin, alpha);
}

std::optional<Equivalence> tost_unpaired(std::span<const double> measured, std::span<const double> reference,
                                         double margin, double alpha) {
  if (measured.size() < 2 || reference.size() < 2 || !valid(margin, alpha)) return std::nullopt;
  if (!all_finite(measured) || !all_finite(reference)) return std::nullopt;
  const Moments a = moments(measured);
  const Moments b = moments(reference);
  const double part_a = a.variance / a.count;
  const double part_b = b.variance / b.count;
  const double total = part_a + part_b;
  // Welch-Satterthwaite; of two constant samples any number will do.
  const double degrees = total == 0
                             ? a.count + b.count - 2
                             : total * total / (part_a * part_a / (a.count - 1) + part_b * part_b / (b.count - 1));
  return two_one_sided(a.mean - b.mean, std::sqrt(total), degrees, margin, alpha);
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(order.size() - rank) * p_values[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

std::optional<CurveEquivalence> equivalent_curves(std::span<const std::vector<double>> measured,
                                                  std::span<const std::vector<double>> reference, Samples samples,
                                                  double margin_rel, double alpha) {
  if (measured.size() != reference.size() || measured.empty()) return std::nullopt;
  CurveEquivalence result;
  std::vector<double> p_values;
  for (std::size_t window = 0; window < measured.size(); ++window) {
    if (reference[window].empty()) return std::nullopt;
    const double margin = margin_rel * std::fabs(moments(reference[window]).mean);
    const auto tested = samples == Samples::paired ? tost_paired(measured[window], reference[window], margin, alpha)
                                                   : tost_unpaired(measured[window], reference[window], margin, alpha);
    if (!tested) return std::nullopt;
    result.windows.push_back(*tested);
    p_values.push_back(tested->p_value);
  }
  const std::vector<double> adjusted = holm_adjusted(p_values);
  result.equivalent = true;
  for (std::size_t window = 0; window < adjusted.size(); ++window) {
    result.windows[window].p_value = adjusted[window];
    result.windows[window].equivalent = adjusted[window] <= alpha;
    result.equivalent = result.equivalent && result.windows[window].equivalent;
  }
  return result;
}

}  // namespace reprobench
