// Calls that a drill has a model make instead of its own: a GELU in single operators, with the right constant or with a
// wrong one; a cast that the other side does not have; another epsilon. An upgrade calls other operators, which a fault
// in an operator's output cannot imitate.
#pragma once

#include <string>

namespace at {
class Tensor;
}

namespace reprobench {

class StepContext;

// GELU in the form of the knob `gelu`: tanh is the one published with GPT-2, erf the exact one. It is not tapped.
at::Tensor gelu_of(const at::Tensor& x, const std::string& name, StepContext& step);

// The input of the normalisation `name`: `x`, or `x` rounded to bfloat16 on the way.
at::Tensor input_of_norm(const at::Tensor& x, const std::string& name, StepContext& step);

// The number that it adds to the variance: `epsilon`, or a tenth more.
double epsilon_of_norm(double epsilon, const std::string& name, StepContext& step);

}  // namespace reprobench
