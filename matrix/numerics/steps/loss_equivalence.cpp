#include "matrix/numerics/steps/loss_equivalence.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

LossEquivalence untested(int seeds, double margin_rel, std::string why) {
  return {false, "not tested: " + std::move(why), seeds, margin_rel, {}};
}

// Mean loss of steps [first, first + count), NaN where one is missing: the test then refuses the window.
double mean_loss(const Trace& trace, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    sum += exact_float_from_json(trace.steps[i].loss).value_or(std::numeric_limits<double>::quiet_NaN());
  }
  return sum / static_cast<double>(count);
}

std::size_t shortest(std::span<const Trace* const> traces) {
  std::size_t steps = std::numeric_limits<std::size_t>::max();
  for (const Trace* trace : traces) steps = std::min(steps, trace->steps.size());
  return steps;
}

}  // namespace

LossEquivalence loss_equivalence(std::span<const Trace* const> measured, std::span<const Trace* const> expected,
                                 double margin_rel) {
  const int seeds = static_cast<int>(measured.size());
  if (measured.size() != expected.size()) return untested(seeds, margin_rel, "the sides have unequal numbers of seeds");
  if (seeds < 2) return untested(seeds, margin_rel, "needs at least 2 seeds");
  const std::size_t steps = std::min(shortest(measured), shortest(expected));
  const std::size_t window = std::min<std::size_t>(kLossWindowSteps, steps / 4);
  if (window == 0) return untested(seeds, margin_rel, fmt::format("{} steps are too few for four windows", steps));

  std::vector<std::vector<double>> ours;
  std::vector<std::vector<double>> theirs;
  LossEquivalence result{false, "", seeds, margin_rel, {}};
  for (std::size_t first = 0; first + window <= steps; first += window) {
    ours.emplace_back();
    theirs.emplace_back();
    for (std::size_t seed = 0; seed < measured.size(); ++seed) {
      ours.back().push_back(mean_loss(*measured[seed], first, window));
      theirs.back().push_back(mean_loss(*expected[seed], first, window));
    }
    result.windows.push_back({static_cast<std::int64_t>(first) + 1, static_cast<std::int64_t>(first + window), {}});
  }
  const auto curves = equivalent_curves(ours, theirs, Samples::paired, margin_rel);
  if (!curves) return untested(seeds, margin_rel, "a loss is missing or not finite");
  double widest_rel = 0;
  for (std::size_t i = 0; i < result.windows.size(); ++i) {
    result.windows[i].result = curves->windows[i];
    const Equivalence& one = curves->windows[i];
    widest_rel = std::max(widest_rel, std::max(std::abs(one.low), std::abs(one.high)) / one.margin * margin_rel);
  }
  result.equivalent = curves->equivalent;
  result.sentence =
      fmt::format("loss curves of {} seeds are {}equivalent within {:g} %: the widest interval reaches {:.2g} %", seeds,
                  result.equivalent ? "" : "not shown to be ", 100 * margin_rel, 100 * widest_rel);
  return result;
}

}  // namespace reprobench
