// How much slower one stack is than another, from pairs of measurements taken seconds apart.
//
// The estimate is the median of the pairs' log-ratios. Its interval is the sign-test interval: two order statistics of
// the log-ratios, chosen so that the median lies between them with the asked confidence whatever the distribution
// (Conover, Practical Nonparametric Statistics, section 3.2). It needs six pairs for 95 %; fewest_pairs() says
// how many for another.
#pragma once

#include <optional>
#include <span>

namespace reprobench {

struct RatioInterval {
  double ratio = 1;  // measured / reference
  double low = 1;
  double high = 1;
  int pairs = 0;
};

// Nothing if there are too few pairs for the confidence, the spans differ in length, or a value is not positive and
// finite.
std::optional<RatioInterval> paired_ratio(std::span<const double> measured, std::span<const double> reference,
                                          double confidence = 0.95);

// The fewest pairs that have an interval with that confidence; a confidence of 1 has none.
int fewest_pairs(double confidence);

enum class RatioVerdict { worse, equivalent, better, undecided };

// Judges a ratio for which more is worse against a margin, 0.05 for 5 %. Worse: the whole interval is above 1 + margin.
// Better: the whole interval is under 1 / (1 + margin). Equivalent: otherwise, if no part of it is above 1 + margin.
// Undecided: all else.
RatioVerdict judge_ratio(const RatioInterval& interval, double margin);

// The same ratio seen from the other side: 1/x.
RatioInterval inverted(const RatioInterval& interval);

}  // namespace reprobench
