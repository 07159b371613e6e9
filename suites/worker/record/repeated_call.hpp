// An operator call made once more, with other arguments than those it was shown with.
#pragma once

#include <functional>
#include <vector>

#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {

using CallStack = std::vector<c10::IValue>;

// `values` with every tensor in them, also in lists, replaced by change(tensor).
CallStack with_tensors(const CallStack& values, const std::function<at::Tensor(const at::Tensor&)>& change);

std::vector<at::Tensor> tensors_in(const CallStack& values);

// A copy in fp64; of anything that is no floating point a copy as it is.
at::Tensor widened(const at::Tensor& tensor);

// The operator of `call` on `arguments`, without gradients or automatic casts; throws whatever it throws. Of an
// operator of oneDNN, which takes no fp64, the one that chooses it.
CallStack call_again(const OperatorCall& call, CallStack arguments);

}  // namespace reprobench
