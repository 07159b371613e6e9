// Where the first NaN or infinity of a step came from: the operator that made it out of finite inputs.
//
// Some are meant: attention masks with minus infinity. So the step is held against a healthy one of the same workload,
// and only what is not finite there and here is looked at.
#pragma once

#include <optional>
#include <span>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

struct NonFiniteOrigin {
  OperatorRecord call;
  std::size_t output = 0;  // of the call; or the input, where nothing made it
  bool made_here = true;   // false: `call` is the first that meets one in its inputs, and no operator made it
};

// `healthy`: calls of a step that went well. Nothing if every call's results are as finite as there.
std::optional<NonFiniteOrigin> non_finite_origin(std::span<const OperatorRecord> calls,
                                                 std::span<const OperatorRecord> healthy);

}  // namespace reprobench
