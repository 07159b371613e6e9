// Makes an operator call once more, with other arguments than those it was shown with.
#pragma once

#include <functional>
#include <vector>

#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {

using CallStack = std::vector<c10::IValue>;

// `values` with every tensor in them, also in lists, replaced by change(tensor).
CallStack with_tensors(const CallStack& values, const std::function<at::Tensor(const at::Tensor&)>& change);

std::vector<at::Tensor> tensors_in(const CallStack& values);

// A copy in fp64; a tensor that is not floating point is copied as it is.
at::Tensor widened(const at::Tensor& tensor);

// The operator of `call` on `arguments`, without gradients or automatic casts; throws whatever it throws. An operator
// of oneDNN takes no fp64; in its place the operator runs that chooses oneDNN.
CallStack call_again(const OperatorCall& call, CallStack arguments);

}  // namespace reprobench
