// Holds one number, or one ratio with its interval, against the bound of a check, and says so in a sentence.
#pragma once

#include <string>

#include "matrix/contract/reason.hpp"
#include "matrix/stats/paired_ratio.hpp"
#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

void leave_undecided(CheckResult& check, Reason reason, std::string sentence);

// A result that is no number: the stack under test produced it where numbers are judged, elsewhere the measurement is
// broken.
void reject_not_finite(CheckResult& check);

// Not of a regression, which has a ratio. `statement` says the value in words; empty: the number speaks for itself.
void judge_absolute(CheckResult& check, const Bound& bound, double value, const std::string& statement = "");

// `check` has the measured value and the reference's. An interval that reaches over the bound leaves it undecided.
void judge_regression(CheckResult& check, const Metric& metric, const Bound& bound, const RatioInterval& interval);

// Whether a value, or all values or no value of an interval, keep a bound that is none of a regression.
bool keeps(const Bound& bound, double value);
bool holds_throughout(const Bound& bound, const RatioInterval& interval);
bool holds_nowhere(const Bound& bound, const RatioInterval& interval);

}  // namespace reprobench
