// How far apart the tensors of two traces are, estimated from their sketches (kernels/sketch: about 9 % standard
// deviation). The tensors themselves are not needed, so it works on stored runs and between stacks whose bits always
// differ.
#pragma once

#include <optional>
#include <string>

#include "matrix/contract/document/description.hpp"
#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// Estimate of the squared L2 norm of a - b.
double distance_squares(const TensorSketch& a, const TensorSketch& b);

// Relative L2 distance over all tensors of one role: sqrt(sum |a - b|^2) / sqrt(sum |b|^2). Infinite if one side has a
// NaN or infinity that the other lacks, or differs from all zeros. Nothing if one side alone has a tensor of that role,
// or no sketch of it, because a missing part could be anything.
std::optional<double> role_distance_rel(const TensorsRecord& measured, const TensorsRecord& expected, TensorRole role);

// The tensor of a role that is farthest from the expected one, in units of that one's own length. So a small tensor is
// not lost among large ones, as it is in role_distance_rel. A gradient that may be rounding alone on both sides counts
// as equal. Nothing where role_distance_rel has nothing. Throws ContractError for a precision without bounds.
struct FarthestTensor {
  std::string name;
  double distance_rel = 0;
};
std::optional<FarthestTensor> farthest_tensor(const TensorsRecord& measured, const TensorsRecord& expected,
                                              TensorRole role, const std::string& precision);

// The tensors of `step`, or of the state after it; null if the trace has none.
const TensorsRecord* tensors_of_step(const Trace& trace, std::int64_t step, bool is_final = false);

struct OverBound {
  std::int64_t step = 0;
  TensorRole role = TensorRole::forward_output;
  std::string tensor;
  double distance_rel = 0;
  double bound_rel = 0;
};

template <>
struct Description<OverBound> {
  static constexpr About about = About::part("over_bound", "The first tensor further away than rounding takes it.");
  static void fields(auto& field, OverBound& over) {
    field("step", over.step, rule::at_least(1));
    field("role", over.role);
    field("tensor", over.tensor);
    field("distance_rel", over.distance_rel);
    field("bound_rel", over.bound_rel);
  }
};

// How far rounding alone takes a gradient, an activation or a loss of one step in this precision: 1e-5 in fp32. Throws
// ContractError for a precision without bounds.
double tensor_bound_rel(const std::string& precision);

// The first tensor, by step and then in execution order, that is further from the expected one than rounding can take
// it in this precision. The bounds are those of the reproducibility classes without an fp64 rerun: gradients and
// activations 1e-5 in fp32, 2e-2 in 16 bit; parameters 2.4e-7 sqrt(step) in fp32. Only steps with sketches count.
// Throws ContractError for a precision without bounds.
std::optional<OverBound> first_over_bound(const Trace& measured, const Trace& expected, const std::string& precision);

}  // namespace reprobench
