// Whether a forward pass computed the right thing: against the same operators in fp64, and bit by bit against eager.
#pragma once

#include <cstdint>

#include "suites/worker/probes/probe_run.hpp"

namespace reprobench {

class Model;
struct ModelPreset;

// What a model's eager pass in fp32 may be off by: the products with its weights, each by its depth.
double eager_error_bound_rel(const Model& model, const ModelPreset& preset);

// Within its bound of fp64, with the result's digest.
Correctness eager_is_right(const at::Tensor& result, const at::Tensor& fp64, double bound_rel);

// Of the shape, type and device of eager's `fp32`, and within class B2 of fp64; what is wrong with eager beyond its
// bound makes no room for it. The digest is of whatever has the right shape.
Correctness package_is_right(const at::Tensor& result, const at::Tensor& fp32, const at::Tensor& fp64,
                             double eager_bound_rel);

// Of two fp32 tensors of one shape: bits count, so that NaN and zeros with signs do.
std::int64_t differing_elements(const at::Tensor& result, const at::Tensor& expected);

}  // namespace reprobench
