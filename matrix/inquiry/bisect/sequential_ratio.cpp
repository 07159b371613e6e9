#include "matrix/inquiry/bisect/sequential_ratio.hpp"

namespace reprobench {
namespace {

constexpr double kErrorOfAll = 0.05;
constexpr int kLooks = 3;

}  // namespace

SequentialPlan sequential_plan(double margin, int evaluations) {
  SequentialPlan plan;
  plan.margin = margin;
  plan.confidence = 1 - kErrorOfAll;
  plan.confidence_of_each = 1 - kErrorOfAll / (kLooks * evaluations);
  plan.looks.push_back(fewest_pairs(plan.confidence_of_each));
  while (plan.looks.size() < kLooks) plan.looks.push_back(2 * plan.looks.back());
  return plan;
}

RatioDecision decide_ratio(const SequentialPlan& plan, const TakePair& take) {
  RatioDecision decision;
  std::vector<double> measured;
  std::vector<double> reference;
  for (const int look : plan.looks) {
    while (static_cast<int>(measured.size()) < look) {
      const auto [ours, theirs] = take(static_cast<int>(measured.size()));
      measured.push_back(ours);
      reference.push_back(theirs);
    }
    const auto interval = paired_ratio(measured, reference, plan.confidence_of_each);
    if (!interval) break;
    decision.interval = *interval;
    decision.verdict = judge_ratio(*interval, plan.margin);
    if (decision.verdict != RatioVerdict::undecided) break;
  }
  return decision;
}

}  // namespace reprobench
