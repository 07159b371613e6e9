// The stacks that a bisect goes over, in order.
#pragma once

#include <string>
#include <vector>

#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

// From `good` to `bad`: those two and every stack whose torch lies between theirs, by version and then by name; newest
// first where `good` is the newer one. `given` in place of that: it must begin with `good`, end with `bad`, and name no
// stack twice. Throws UsageError, with the nearest name for one that nobody knows, and the error of a stack file that
// cannot be read where it is named.
std::vector<std::string> bisect_axis(const StackFiles& files, const std::string& good, const std::string& bad,
                                     const std::vector<std::string>& given);

}  // namespace reprobench
