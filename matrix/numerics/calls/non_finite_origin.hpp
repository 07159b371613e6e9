// The origin of the first NaN or infinity of a step: the operator that made it from finite inputs.
//
// Some are intended, such as attention masks with minus infinity. So the step is compared with a healthy one of the
// same workload. Only tensors with more such elements than there are looked at.
#pragma once

#include <optional>
#include <span>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

struct NonFiniteOrigin {
  OperatorRecord call;
  std::size_t output = 0;  // of the call; or the input, if no operator made it
  bool made_here = true;   // false: `call` is the first with one in its inputs, and no operator made it
};

// `healthy` has the calls of a step that went well. Nothing if every call's results are as finite as there.
std::optional<NonFiniteOrigin> non_finite_origin(std::span<const OperatorRecord> calls,
                                                 std::span<const OperatorRecord> healthy);

}  // namespace reprobench
