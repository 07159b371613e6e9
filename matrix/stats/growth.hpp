// How the distance of two training trajectories grows with the step.
//
// alpha is the slope of ln d on ln t: 0.5 for roundings that add like a random walk; above 1.5 over a window, something
// amplifies them. lambda is the slope of ln d on t. Both are by least squares.
#pragma once

#include <optional>
#include <span>

namespace reprobench {

struct Growth {
  double alpha = 0;
  double lambda_per_step = 0;
  double doubling_steps = 0;  // ln 2 / lambda; infinite if lambda is 0, negative if the distance shrinks
  int points = 0;             // those with a positive, finite distance; the others are left out
};

// Distance `distances[i]` at step `steps[i]`, steps positive. Nothing if fewer than three points are usable, the spans
// differ in length, or all points have one step.
std::optional<Growth> growth(std::span<const double> steps, std::span<const double> distances);

}  // namespace reprobench
