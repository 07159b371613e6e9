// Finds out which library code computes each operator of a piece of work on the CPU.
#pragma once

#include <functional>

#include "matrix/contract/step_implementations.hpp"

namespace reprobench {

// Calls `work` once. Its exceptions come through. It is slow: nothing must be timed in it.
StepImplementations implementations_heard(const std::function<void()>& work);

}  // namespace reprobench
