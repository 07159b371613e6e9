#include "matrix/numerics/steps/loss_distance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "matrix/base/number.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"

namespace reprobench {
namespace {

// Losses of seven models on three releases were at most 1.7 times as far apart as their weights, but for rounding
// (suites/results.md).
constexpr double kLossPerWeights = 100;

// A loss that has nearly vanished is hundreds of times as sensitive to weights, relative to itself.
constexpr double kLeastOfFirst = 0.01;

// Of the weights that a step begins with; nothing: not on record.
std::optional<double> weights_apart_rel(const Trace& measured, const Trace& expected, std::int64_t step) {
  const TensorsRecord* ours = tensors_of_step(measured, step);
  const TensorsRecord* theirs = tensors_of_step(expected, step);
  if (ours == nullptr || theirs == nullptr) return std::nullopt;
  return role_distance_rel(*ours, *theirs, TensorRole::parameter);
}

}  // namespace

std::optional<double> loss_distance_rel(const StepRecord& measured, const StepRecord& expected) {
  const auto ours = exact_float_from_json(measured.loss);
  const auto theirs = exact_float_from_json(expected.loss);
  if (!ours || !theirs) return std::nullopt;
  return std::abs(*ours - *theirs) / std::max(std::abs(*theirs), std::numeric_limits<double>::min());
}

std::optional<LossApart> first_loss_apart(const Trace& measured, const Trace& expected, const std::string& precision) {
  const double of_equal_weights = tensor_bound_rel(precision);
  if (expected.steps.empty()) return std::nullopt;
  const double least = kLeastOfFirst * std::abs(exact_float_from_json(expected.steps[0].loss).value_or(0));
  for (std::size_t i = 0; i < std::min(measured.steps.size(), expected.steps.size()); ++i) {
    const StepRecord& ours = measured.steps[i];
    auto distance = loss_distance_rel(ours, expected.steps[i]);
    if (!distance || !std::isfinite(*distance)) continue;  // a check of its own fails on such a loss
    const double loss = std::abs(*exact_float_from_json(expected.steps[i].loss));
    if (loss < least) *distance *= loss / least;
    const auto weights = ours.step == 1 ? std::optional(0.0) : weights_apart_rel(measured, expected, ours.step);
    if (!weights) continue;
    // Weights that are not finite explain nothing.
    const double bound = of_equal_weights + (std::isfinite(*weights) ? kLossPerWeights * *weights : 0);
    if (*distance > bound) return LossApart{ours.step, *distance, bound};
  }
  return std::nullopt;
}

}  // namespace reprobench
