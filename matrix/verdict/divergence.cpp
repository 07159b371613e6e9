#include "matrix/verdict/divergence.hpp"

#include <algorithm>
#include <cmath>

#include "matrix/numerics/steps/loss_distance.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"

namespace reprobench {
namespace {

// The first tensor in execution order whose digests differ, or that only one side recorded.
std::optional<Divergence> first_differing_tensor(const TensorsRecord& measured, const TensorsRecord& expected) {
  const std::size_t count = std::min(measured.tensors.size(), expected.tensors.size());
  for (std::size_t i = 0; i < count; ++i) {
    const TensorRecord& ours = measured.tensors[i];
    const TensorRecord& theirs = expected.tensors[i];
    if (ours.digest == theirs.digest && ours.name == theirs.name && ours.role == theirs.role) continue;
    return Divergence{measured.step, ours.name, std::string(to_string(ours.role)), ours.digest, theirs.digest};
  }
  if (measured.tensors.size() == expected.tensors.size()) return std::nullopt;
  const bool extra = measured.tensors.size() > count;
  const TensorRecord& unmatched = extra ? measured.tensors[count] : expected.tensors[count];
  return Divergence{measured.step, unmatched.name, std::string(to_string(unmatched.role)),
                    extra ? unmatched.digest : "", extra ? "" : unmatched.digest};
}

Divergence divergence_at_step(const Trace& measured, const Trace& expected, std::size_t index) {
  const StepRecord& ours = measured.steps[index];
  const StepRecord& theirs = expected.steps[index];
  const TensorsRecord* our_tensors = tensors_of_step(measured, ours.step, false);
  const TensorsRecord* their_tensors = tensors_of_step(expected, theirs.step, false);
  if (our_tensors != nullptr && their_tensors != nullptr) {
    if (auto named = first_differing_tensor(*our_tensors, *their_tensors)) return *named;
  }
  const bool loss_differs = ours.loss != theirs.loss;
  return {ours.step, "", loss_differs ? "loss" : "root", ours.root, theirs.root};
}

}  // namespace

TraceComparison compare_traces(const Trace& measured, const Trace& expected) {
  TraceComparison comparison;
  comparison.steps_compared = static_cast<std::int64_t>(std::min(measured.steps.size(), expected.steps.size()));
  for (std::size_t i = 0; i < static_cast<std::size_t>(comparison.steps_compared); ++i) {
    const StepRecord& ours = measured.steps[i];
    const StepRecord& theirs = expected.steps[i];
    if (ours.root == theirs.root && ours.loss == theirs.loss) continue;
    ++comparison.steps_differing;
    if (!comparison.first) comparison.first = divergence_at_step(measured, expected, i);
  }
  const std::int64_t last = measured.steps.empty() ? 0 : measured.steps.back().step;
  const TensorsRecord* our_state = tensors_of_step(measured, last, true);
  const TensorsRecord* their_state = tensors_of_step(expected, last, true);
  if (our_state != nullptr && their_state != nullptr) {
    const auto differing = first_differing_tensor(*our_state, *their_state);
    comparison.final_state_differs = differing.has_value();
    if (differing && !comparison.first) comparison.first = differing;
  }
  return comparison;
}

std::optional<double> gradient_distance_rel(const Trace& measured, const Trace& expected, std::int64_t step) {
  const TensorsRecord* ours = tensors_of_step(measured, step);
  const TensorsRecord* theirs = tensors_of_step(expected, step);
  if (ours == nullptr || theirs == nullptr) return std::nullopt;
  return role_distance_rel(*ours, *theirs, TensorRole::parameter_gradient);
}

std::optional<double> first_loss_distance_rel(const Trace& measured, const Trace& expected) {
  if (measured.steps.empty() || expected.steps.empty()) return std::nullopt;
  return loss_distance_rel(measured.steps.front(), expected.steps.front());
}

std::optional<double> largest_loss_distance_rel(const Trace& measured, const Trace& expected) {
  double largest = 0;
  const std::size_t steps = std::min(measured.steps.size(), expected.steps.size());
  if (steps == 0) return std::nullopt;
  for (std::size_t i = 0; i < steps; ++i) {
    const auto distance = loss_distance_rel(measured.steps[i], expected.steps[i]);
    if (!distance || std::isnan(*distance)) return distance;  // max() would drop a NaN
    largest = std::max(largest, *distance);
  }
  return largest;
}

}  // namespace reprobench
