// The record of one tensor that an operator call made, and its distance to the same in fp64.
#pragma once

#include <string>

#include "matrix/contract/call_record.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

// The record of a tensor, without a distance to fp64 yet.
CallOutput record_of(const std::string& name, const at::Tensor& tensor);

// Adds the distance to `exact`, the result of the call in fp64. Elements that are not finite on one side alone are
// counted and left out of the distance, which is relative to the finite part of `exact`.
void hold_against(const at::Tensor& exact, const at::Tensor& made, CallOutput& output);

}  // namespace reprobench
