#include "matrix/stats/error_budget.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "matrix/stats/robust.hpp"

namespace reprobench {
namespace {

// RMS error of rounding an exact value once, in units of the unit roundoff, for values spread evenly over a binade.
constexpr double kOneRounding = 0.29;
// Power of a decision for rounding: the share of defects of size kSmallestDefect that it may miss.
constexpr double kMissedDefects = 0.05;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// A share of the RMS of a role: smaller values cannot be told from zero in fp64 after the sums of a step.
constexpr double kLeastShareOfRms = 1e-12;

constexpr std::array kBounds = {
    PrecisionBounds{"fp32", 0x1p-24, 1e-6, 2, 3},      PrecisionBounds{"tf32", 0x1p-11, 1e-4, 2, 3},
    PrecisionBounds{"bf16", 0x1p-8, 1e-3, 3, 3},       PrecisionBounds{"fp16", 0x1p-11, 1e-4, 2, 3},
    PrecisionBounds{"fp8_e4m3", 0x1p-4, 1.5e-2, 3, 3},
};

double least_length(std::int64_t count, double global_rms) {
  return std::sqrt(static_cast<double>(count)) * kLeastShareOfRms * global_rms;
}

// Quantile of Student's t that is exceeded with probability `tail`.
double t_quantile(double effective_batches, double tail) {
  if (effective_batches < 2) return kUnbounded;
  return boost::math::quantile(complement(boost::math::students_t(effective_batches - 1), tail));
}

// Batches that dominate the sums hide their own spread from the jackknife, so only the effective ones count as
// evidence.
double effective_batches(const BatchErrors& errors) {
  double sum = 0;
  double squares = 0;
  for (std::size_t k = 0; k < errors.candidate.size(); ++k) {
    const double weight = errors.candidate[k] * errors.candidate[k] + errors.reference[k] * errors.reference[k];
    sum += weight;
    squares += weight * weight;
  }
  return squares > 0 ? sum * sum / squares : static_cast<double>(errors.candidate.size());
}

bool all_errors(const std::vector<double>& errors) {
  return std::all_of(errors.begin(), errors.end(), [](double error) { return error >= 0 && std::isfinite(error); });
}

double sum_squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

// Jackknife standard error of ln E, times sqrt(K).
double jackknife_spread(const BatchErrors& errors, double sum_x, double sum_r, double floor_square) {
  const std::size_t count = errors.candidate.size();
  std::vector<double> logs(count);
  double mean = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double rest = static_cast<double>(count - 1);
    const double x = std::max((sum_x - errors.candidate[k] * errors.candidate[k]) / rest, floor_square);
    const double r = std::max((sum_r - errors.reference[k] * errors.reference[k]) / rest, floor_square);
    logs[k] = 0.5 * std::log(x / r);
    mean += logs[k] / static_cast<double>(count);
  }
  double squares = 0;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  return std::sqrt(static_cast<double>(count - 1) * squares);
}

}  // namespace

std::span<const PrecisionBounds> precision_bounds() { return kBounds; }

const PrecisionBounds* find_precision_bounds(std::string_view precision) {
  const auto found =
      std::find_if(kBounds.begin(), kBounds.end(), [&](const auto& row) { return row.precision == precision; });
  return found == kBounds.end() ? nullptr : &*found;
}

double relative_l2(double difference_squares, double reference_squares, std::int64_t count, double global_rms) {
  if (difference_squares == 0) return 0;
  const double relative =
      std::sqrt(difference_squares) / std::max(std::sqrt(reference_squares), least_length(count, global_rms));
  return std::isnan(relative) ? kUnbounded : relative;  // of squares beyond every number: no order has a place for it
}

double order_error_rel(std::int64_t terms) {
  return std::sqrt(static_cast<double>(std::max<std::int64_t>(terms, 0))) * 0x1p-24;
}

double largest_ratio_of_orders(std::int64_t terms) {
  return std::max(kLegitimateRatioOfOrders, order_error_rel(terms) / (kOneRounding * 0x1p-24));
}

BatchChance batch_chance(const std::vector<double>& errors, std::int64_t count) {
  BatchChance result;
  result.independent = static_cast<double>(std::max<std::int64_t>(count, 1));
  if (errors.empty()) return result;
  const auto batches = static_cast<double>(errors.size());
  const double mean = sum_squares(errors) / batches;
  result.usual = std::min(std::sqrt(mean), 2 * median(errors));
  double variance = 0;
  for (const double error : errors) variance += (error * error - mean) * (error * error - mean) / batches;
  if (variance > 0) result.independent = std::clamp(2 * mean * mean / variance, 1.0, result.independent);
  return result;
}

double largest_by_chance(double independent, double tail) {
  return std::sqrt(boost::math::quantile(complement(boost::math::chi_squared(independent), tail)) / independent);
}

double noise_floor(double exact_squares, std::int64_t count, double global_rms, double phi) {
  return std::sqrt(exact_squares) <= least_length(count, global_rms) ? phi / kLeastShareOfRms : phi;
}

double relative_distance(double difference_squares, double reference_squares, std::int64_t mismatches) {
  if (difference_squares == 0 && mismatches == 0) return 0;
  const double relative = std::sqrt(difference_squares / reference_squares);
  return mismatches > 0 || std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
}

ErrorBudget error_budget(double e_x, double e_r, double delta, double phi) {
  ErrorBudget budget;
  budget.error_ratio = e_x / std::max(e_r, phi);
  if (delta > 0) budget.triangle = delta / (e_x + e_r);
  return budget;
}

std::optional<PooledRatio> pooled_ratio(const BatchErrors& errors, std::int64_t count, double unit_roundoff) {
  const std::size_t batches = errors.candidate.size();
  if (batches < 2 || errors.reference.size() != batches) return std::nullopt;
  if (!all_errors(errors.candidate) || !all_errors(errors.reference)) return std::nullopt;
  const double floor = kOneRounding * unit_roundoff;
  const double sum_x = sum_squares(errors.candidate);
  const double sum_r = sum_squares(errors.reference);
  const auto k = static_cast<double>(batches);
  PooledRatio result;
  result.batches = static_cast<int>(batches);
  result.effective_batches = effective_batches(errors);
  result.candidate_error_rel = std::sqrt(sum_x / k);
  result.ratio = std::max(std::sqrt(sum_x / k), floor) / std::max(std::sqrt(sum_r / k), floor);
  const double least_spread = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(count, 1)));
  result.spread_log = std::max(jackknife_spread(errors, sum_x, sum_r, floor * floor), least_spread);
  return result;
}

double pooled_bound(double spread_log, int batches, double effective_batches, const PooledOptions& options) {
  const double tail = options.alpha / std::max(options.tensors, 1);
  return options.legitimate_ratio * std::exp(t_quantile(effective_batches, tail) * spread_log / std::sqrt(batches));
}

PooledDecision decide_pooled(const PooledRatio& ratio, const PooledOptions& options) {
  PooledDecision result;
  result.bound = pooled_bound(ratio.spread_log, ratio.batches, ratio.effective_batches, options);
  result.upper = kUnbounded;
  if (ratio.batches < kFewestPooledBatches) {
    result.reason = "pooling needs " + std::to_string(kFewestPooledBatches) + " batches or more";
    result.batches_needed = kFewestPooledBatches;
    return result;
  }
  result.upper = ratio.ratio * std::exp(t_quantile(ratio.effective_batches, kMissedDefects) * ratio.spread_log /
                                        std::sqrt(ratio.batches));
  // The error as a multiple of what an order of summation leaves. If both sides add in one order, nothing excuses it.
  const double of_orders =
      options.order_error_rel > 0 ? ratio.candidate_error_rel / options.order_error_rel : kUnbounded;
  if (ratio.ratio > result.bound && of_orders <= 1) {
    result.reason = "an order of summation may leave an error of this size";
  } else if (ratio.ratio > result.bound && of_orders <= kCancellationOfOrders) {
    result.reason = kWhereTermsCancel;
    result.is_left_open = true;
  } else if (ratio.ratio > result.bound) {
    result.decision = BudgetDecision::defect;
    result.reason = "the pooled error is larger than any order of summation explains";
  } else if (result.upper < kSmallestDefect) {
    result.decision = BudgetDecision::rounding;
    result.reason = "a defect of rounding size would have shown";
  } else {
    // The half-widths of both limits shrink with sqrt(K); together they have to fit between legitimate and defect.
    const double widths = std::log(result.bound / options.legitimate_ratio) + std::log(result.upper / ratio.ratio);
    const double room = std::log(kSmallestDefect / options.legitimate_ratio);
    result.reason = "the errors of these batches vary too much to tell a defect of rounding size";
    if (room > 0 && std::isfinite(widths)) {
      const double needed = ratio.batches * (widths / room) * (widths / room);
      result.batches_needed = static_cast<int>(std::min(std::ceil(std::max(needed, ratio.batches + 1.0)), 1e9));
    }
  }
  return result;
}

double learned_ratio(const PooledRatio& ratio) {
  if (ratio.batches < kFewestPooledBatches) return kLegitimateRatio;
  const double noise =
      std::exp(t_quantile(ratio.effective_batches, kMissedDefects) * ratio.spread_log / std::sqrt(ratio.batches));
  return ratio.ratio / noise > kLegitimateRatio ? ratio.ratio * noise : kLegitimateRatio;
}

}  // namespace reprobench
