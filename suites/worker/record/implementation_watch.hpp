// Hears which library code computes the operators of a piece of work on the CPU, each by itself.
#pragma once

#include <functional>

#include "matrix/contract/step_implementations.hpp"

namespace reprobench {

// Calls `work` once. Whatever it throws is thrown on. Slow: nothing is to be timed in it.
StepImplementations implementations_heard(const std::function<void()>& work);

}  // namespace reprobench
