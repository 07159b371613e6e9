#include "matrix/numerics/steps/loss_distance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "matrix/base/number.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"

namespace reprobench {
namespace {

// After 20 steps of gpt2 losses were 6.7e-4 apart, and weights about 1e-5.
constexpr double kLossPerWeights = 1000;

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

std::optional<double> finite_loss_distance_rel(const StepRecord& measured, const StepRecord& expected) {
  const auto a = exact_float_from_json(measured.loss);
  const auto b = exact_float_from_json(expected.loss);
  if (!a || !b || !std::isfinite(*a) || !std::isfinite(*b)) return std::nullopt;
  return std::abs(*a - *b) / std::max(std::abs(*b), std::numeric_limits<double>::min());
}

std::optional<LossApart> first_loss_apart(const Trace& measured, const Trace& expected, const std::string& precision) {
  const double of_equal_weights = tensor_bound_rel(precision);
  if (expected.steps.empty()) return std::nullopt;
  const double least = kLeastOfFirst * std::abs(exact_float_from_json(expected.steps[0].loss).value_or(0));
  for (std::size_t i = 0; i < std::min(measured.steps.size(), expected.steps.size()); ++i) {
    const StepRecord& ours = measured.steps[i];
    auto distance = finite_loss_distance_rel(ours, expected.steps[i]);
    const double loss = std::abs(exact_float_from_json(expected.steps[i].loss).value_or(0));
    if (distance && loss < least) *distance *= loss / least;
    const auto weights = ours.step == 1 ? std::optional(0.0) : weights_apart_rel(measured, expected, ours.step);
    if (!distance || !weights) continue;
    const double bound = of_equal_weights + kLossPerWeights * *weights;
    if (*distance > bound) return LossApart{ours.step, *distance, bound};
  }
  return std::nullopt;
}

}  // namespace reprobench
