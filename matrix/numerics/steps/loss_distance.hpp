// Whether two losses are further apart than the weights that they come of explain.
//
// No step against fp64 holds a loss: gradients do not change if a loss is doubled after the backward pass, or told in
// bf16. Equal weights give equal losses but for rounding, and weights that are a little apart give losses that are a
// little apart.
#pragma once

#include <optional>
#include <string>

#include "matrix/contract/trace.hpp"

namespace reprobench {

struct LossApart {
  std::int64_t step = 0;
  double distance_rel = 0;
  double bound_rel = 0;
};

// Relative distance of the losses of one step; NaN or infinite where one of them is, nothing where one is missing.
std::optional<double> loss_distance_rel(const StepRecord& measured, const StepRecord& expected);

// The first step whose losses are further apart than the bound of its precision (1e-5 in fp32, as for gradients of a
// first step) and 100 times the distance of the weights before it. Distances are relative to the expected loss, or to
// a hundredth of its first. Step 1 begins with equal weights; of a later one the sketches of both sides' parameters
// have to be on record, else it is left out. Between releases first losses were at most 8.5e-8 apart in fp32
// (suites/results.md). Throws ContractError for a precision without bounds.
std::optional<LossApart> first_loss_apart(const Trace& measured, const Trace& expected, const std::string& precision);

}  // namespace reprobench
