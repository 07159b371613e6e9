// The orders in which a call of a training adds up, read off the same operator with the same shapes, strides and
// settings while the training's process waits, and held against what the call made of its own inputs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matrix/contract/call_order.hpp"
#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {

// By output, of those that are known to be sums. `inputs`: the call's, as they were before it. A call that cannot be
// made alone, or takes longer than a few seconds, has orders that are not known, with the reason.
std::vector<std::pair<std::size_t, CallOrder>> orders_of_captured(const OperatorCall& call,
                                                                  const std::vector<c10::IValue>& inputs);

}  // namespace reprobench
