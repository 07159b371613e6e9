// The orders in which a call of a training adds up. They are read off the same operator with the same shapes, strides
// and settings while the training's process waits, and compared with the call's own results.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matrix/contract/call_order.hpp"
#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {

// The orders of the outputs that are known to be sums, by index of the output. `inputs` are the call's, as they were
// before it. If the call cannot be made alone, or takes longer than a few seconds, its orders are not known, with the
// reason.
std::vector<std::pair<std::size_t, CallOrder>> orders_of_captured(const OperatorCall& call,
                                                                  const std::vector<c10::IValue>& inputs);

}  // namespace reprobench
