// The record of one tensor that an operator call made, and its distance to the same in fp64.
#pragma once

#include <string>

#include "matrix/contract/call_record.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

// Without a distance to fp64 yet.
CallOutput record_of(const std::string& name, const at::Tensor& tensor);

// `exact` is what the call made in fp64. Elements that are not finite on one side alone are counted and left out of the
// distance, which is relative to what is finite in `exact`.
void hold_against(const at::Tensor& exact, const at::Tensor& made, CallOutput& output);

}  // namespace reprobench
