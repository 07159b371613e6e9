// The calls that a drill has a model make instead of its own: a GELU in single operators, with the right constant or
// with a wrong one, a cast that the other side has not, another epsilon. A fault in an operator's output cannot show
// what an upgrade does, which is to call other operators.
#pragma once

#include <string>

namespace at {
class Tensor;
}

namespace reprobench {

class StepContext;

// In the form of the knob `gelu`: tanh is the published one of GPT-2, erf the exact one. Not tapped.
at::Tensor gelu_of(const at::Tensor& x, const std::string& name, StepContext& step);

// What the normalisation `name` takes: `x`, or `x` by way of bfloat16.
at::Tensor input_of_norm(const at::Tensor& x, const std::string& name, StepContext& step);

// What it adds to the variance: `epsilon`, or a tenth more.
double epsilon_of_norm(double epsilon, const std::string& name, StepContext& step);

}  // namespace reprobench
