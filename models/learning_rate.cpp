#include "models/learning_rate.hpp"

namespace reprobench {
namespace {

constexpr double kPi = 0x1.921fb54442d18p+1;

// Taylor's series, exact to rounding for an angle between -pi/4 and pi/4.
double sine(double angle) {
  const double square = angle * angle;
  double sum = 1;
  for (int power = 17; power >= 3; power -= 2) sum = 1 - sum * square / (power * (power - 1));
  return angle * sum;
}

struct RateOfStep {
  double base;
  std::int64_t step;
  std::int64_t steps;

  double operator()(const ConstantRate&) const { return base; }

  double operator()(const WarmupCosine& schedule) const {
    if (step <= schedule.warmup_steps) {
      return base * static_cast<double>(step) / static_cast<double>(schedule.warmup_steps);
    }
    const double done =
        static_cast<double>(step - schedule.warmup_steps) / static_cast<double>(steps - schedule.warmup_steps);
    const double share = 0.5 * (1 + cosine_of_half_turns(done));
    return base * (schedule.final_share + (1 - schedule.final_share) * share);
  }
};

}  // namespace

double learning_rate(const OptimizerSettings& optimizer, const RateSchedule& schedule, std::int64_t step,
                     std::int64_t steps) {
  return std::visit(RateOfStep{base_learning_rate(optimizer), step, steps}, schedule);
}

// By the identity that keeps the angle small: cos(a) = 1 - 2 sin^2(a / 2) near 0, and its mirror image near pi.
double cosine_of_half_turns(double x) {
  if (x > 0.75) return -cosine_of_half_turns(1 - x);
  if (x >= 0.25) return sine(kPi * (0.5 - x));
  const double half = sine(kPi * x / 2);
  return 1 - 2 * half * half;
}

}  // namespace reprobench
