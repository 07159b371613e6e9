// Where two runs of the same workload diverge, from their traces alone.
#pragma once

#include <cstdint>
#include <optional>

#include "matrix/evidence/run_record.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

struct TraceComparison {
  std::int64_t steps_compared = 0;
  std::int64_t steps_differing = 0;  // steps whose root digests or losses differ
  bool final_state_differs = false;
  std::optional<Divergence> first;  // nothing: equal bits in everything both traces digested
};

// Both traces must be complete and of equal length.
TraceComparison compare_traces(const Trace& measured, const Trace& expected);

// Relative L2 distance of the gradients of step `step`, over all parameters, estimated from their sketches:
// sqrt(sum |s(a) - s(b)|^2) / sqrt(sum |b|^2). The estimate's standard deviation is about 9 % (kernels/sketch).
// Infinite if one side has a NaN or infinity that the other has not. Nothing if the step carries no sketches on both
// sides.
std::optional<double> gradient_distance_rel(const Trace& measured, const Trace& expected, std::int64_t step);

// |loss_a - loss_b| / |loss_b| of the first step, and the largest over all steps.
std::optional<double> first_loss_distance_rel(const Trace& measured, const Trace& expected);
std::optional<double> largest_loss_distance_rel(const Trace& measured, const Trace& expected);

}  // namespace reprobench
