// Whether a forward pass computed the right thing: against the same operators in fp64, and bit by bit against eager.
#pragma once

#include <cstdint>

#include "suites/worker/probes/probe_run.hpp"

namespace reprobench {

class Model;
struct ModelPreset;

// The bound for the error of a model's eager pass in fp32: that of the products with its weights, each by its depth.
double eager_error_bound_rel(const Model& model, const ModelPreset& preset);

// Whether `result` is within its bound of fp64, with the result's digest.
Correctness eager_is_right(const at::Tensor& result, const at::Tensor& fp64, double bound_rel);

// Whether `result` has the shape, type and device of eager's `fp32`, and is within class B2 of fp64. An error of eager
// beyond eager's own bound does not widen that. A result of the right shape has a digest, right or wrong.
Correctness package_is_right(const at::Tensor& result, const at::Tensor& fp32, const at::Tensor& fp64,
                             double eager_bound_rel);

// How many elements of two fp32 tensors of one shape differ. Their bits are compared, so that NaN and the signs of
// zeros count.
std::int64_t differing_elements(const at::Tensor& result, const at::Tensor& expected);

}  // namespace reprobench
