// Whether a forward pass computed the right thing: against the same operators in fp64, and bit by bit against eager.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "suites/worker/probes/probe_run.hpp"

namespace reprobench {

class Model;
struct ModelPreset;

// One batch's pass as the model's own operators make it.
struct EagerPass {
  at::Tensor fp32;
  at::Tensor fp64;
  double bound_rel = 0;  // what fp32 may be off by
};

// Of a model's eager pass in fp32: the products with its weights, each by its depth.
double eager_error_bound_rel(const Model& model, const ModelPreset& preset);

// Within the bound of eager, with the result's digest.
Correctness eager_is_right(const at::Tensor& result, const EagerPass& eager);

// Of eager's shape, type and device, and within class B2 of fp64; what is wrong with eager makes no room for it. The
// digest is of whatever has the right shape.
Correctness package_is_right(const at::Tensor& result, const EagerPass& eager);

// Of two fp32 tensors of one shape: bits count, so that NaN and zeros with signs do.
std::int64_t differing_elements(const at::Tensor& result, const at::Tensor& expected);

}  // namespace reprobench
