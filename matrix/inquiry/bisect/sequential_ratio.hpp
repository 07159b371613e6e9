// Is one stack slower than another by more than a margin? Pairs of times are taken until that is known with a stated
// confidence, or until a cap.
//
// The looks are planned. Each tests the sign interval of the pairs' log-ratios (stats/paired_ratio.hpp). Its confidence
// keeps the error of all looks of all evaluations of a bisect together at 5 % (Bonferroni). So the whole answer is
// wrong in at most 5 of 100 bisects whatever the noise looks like, as long as pairs are independent.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "matrix/stats/paired_ratio.hpp"

namespace reprobench {

struct SequentialPlan {
  double margin = 0;              // 0.05: slower by more than 5 %
  double confidence = 0.95;       // of all evaluations together
  double confidence_of_each = 0;  // of one look
  std::vector<int> looks;         // after how many pairs; ascending, the last one is the cap
};

// `evaluations` is the most that are made under the plan. `margin` must be above 0.
SequentialPlan sequential_plan(double margin, int evaluations);

// (measured, reference) of pair `index`, both above 0.
using TakePair = std::function<std::pair<double, double>(int index)>;

struct RatioDecision {
  RatioVerdict verdict = RatioVerdict::undecided;  // `worse`: slower by more than the margin
  RatioInterval interval;                          // of the last look
};

// Calls `take` for 0, 1, 2 ... up to the look that decides, or the cap. A pair that is no pair of times makes the
// answer undecided.
RatioDecision decide_ratio(const SequentialPlan& plan, const TakePair& take);

}  // namespace reprobench
