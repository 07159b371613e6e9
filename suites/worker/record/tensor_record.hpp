// Digest and sketch of a LibTorch tensor, whatever its strides and element type: the logical row-major elements count.
#pragma once

#include <string>

#include "kernels/digest/digest.hpp"
#include "kernels/sketch/sketch.hpp"
#include "matrix/contract/trace.hpp"
#include "suites/worker/record/step_line.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

// "float32", "bfloat16", "int64" ... Throws RunFailure "unsupported" for a type no record can hold.
std::string dtype_name(const at::Tensor& tensor);

Digest digest_of(const at::Tensor& tensor);

// The value of an fp32 or fp64 tensor with one element.
ExactValue exact_value(const at::Tensor& scalar);

// The number of elements that are NaN or infinite; 0 for integers.
std::int64_t not_finite_count(const at::Tensor& tensor);

Sketch sketch_of(const at::Tensor& tensor);
TensorSketch to_record(const Sketch& sketch);

}  // namespace reprobench
