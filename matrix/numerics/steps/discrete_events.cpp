#include "matrix/numerics/steps/discrete_events.hpp"

#include <algorithm>
#include <cmath>

#include "matrix/numerics/steps/loss_distance.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"
#include "matrix/numerics/steps/tensor_pairs.hpp"

namespace reprobench {
namespace {

constexpr double kSplitFactor = 10;

std::int64_t flips_between(const TensorSketch& a, const TensorSketch& b) {
  // Digests differ, so at least one element does, even if the signs of several cancel.
  return std::max<std::int64_t>(1, std::llround(distance_squares(a, b)));
}

EventFlips& entry_of(std::vector<EventFlips>& list, const TensorRecord& tensor) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const EventFlips& flips) { return flips.event == tensor.name; });
  if (found != list.end()) return *found;
  list.push_back({tensor.name, tensor.role == TensorRole::mask, 0, 0, 0});
  return list.back();
}

void add_flips(std::vector<EventFlips>& list, const TensorsRecord& ours, const TensorsRecord& theirs) {
  for (const TensorPair& pair : tensor_pairs(ours, theirs)) {
    if (!pair.is_whole()) continue;
    const TensorRecord& a = *pair.measured;
    const TensorRecord& b = *pair.expected;
    const bool is_event = a.role == TensorRole::mask || a.role == TensorRole::choice;
    if (!is_event || a.digest == b.digest || !a.sketch || !b.sketch) continue;
    EventFlips& entry = entry_of(list, a);
    if (entry.steps_with_flips++ == 0) {
      entry.first_step = ours.step;
      entry.flips = flips_between(*a.sketch, *b.sketch);
    }
  }
}

// The mask that flipped in `step` or the one before: what a flip does to the weights shows in the next loss.
std::string flipped_mask(const Trace& measured, const Trace& expected, std::int64_t step) {
  for (std::int64_t at = std::max<std::int64_t>(1, step - 1); at <= step; ++at) {
    const TensorsRecord* ours = tensors_of_step(measured, at);
    const TensorsRecord* theirs = tensors_of_step(expected, at);
    if (ours == nullptr || theirs == nullptr) continue;
    std::vector<EventFlips> list;
    add_flips(list, *ours, *theirs);
    for (const EventFlips& flips : list) {
      if (flips.steers) return flips.event;
    }
  }
  return "";
}

}  // namespace

bool forgets_steps(const Trace& trace) { return trace.header.level == TraceLevel::recent; }

std::vector<EventFlips> flips_in_step(const TensorsRecord& measured, const TensorsRecord& expected) {
  std::vector<EventFlips> list;
  add_flips(list, measured, expected);
  return list;
}

std::vector<EventFlips> event_flips(const Trace& measured, const Trace& expected) {
  std::vector<EventFlips> list;
  if (forgets_steps(measured) || forgets_steps(expected)) return list;
  for (const TensorsRecord& ours : measured.tensors) {
    const TensorsRecord* theirs = ours.is_final ? nullptr : tensors_of_step(expected, ours.step);
    if (theirs != nullptr) add_flips(list, ours, *theirs);
  }
  return list;  // by first step, as the records of a trace are
}

std::optional<std::int64_t> first_mask_flip(const std::vector<EventFlips>& flips) {
  for (const EventFlips& entry : flips) {
    if (entry.steers) return entry.first_step;
  }
  return std::nullopt;
}

std::optional<LossSplit> loss_split(const Trace& measured, const Trace& expected) {
  std::optional<LossSplit> split;
  double largest_so_far = 0;
  double largest_jump = kSplitFactor;
  for (std::size_t i = 0; i < std::min(measured.steps.size(), expected.steps.size()); ++i) {
    const auto distance = loss_distance_rel(measured.steps[i], expected.steps[i]);
    if (!distance || !std::isfinite(*distance)) break;
    if (largest_so_far > 0 && *distance >= largest_jump * largest_so_far) {
      largest_jump = *distance / largest_so_far;
      split = LossSplit{measured.steps[i].step, *distance, largest_so_far, ""};
    }
    largest_so_far = std::max(largest_so_far, *distance);
  }
  if (split) split->event = flipped_mask(measured, expected, split->step);
  return split;
}

}  // namespace reprobench
