// The failure in a result, for whatever was thrown.
#pragma once

#include <cstdint>
#include <exception>

#include "matrix/contract/result.hpp"

namespace reprobench {

// `thrown` must not be null. Only the first line of its text is kept: LibTorch appends a stack trace of the worker,
// which differs between runs and explains nothing.
WorkerFailure failure_of(const std::exception_ptr& thrown, std::int64_t steps_completed);

}  // namespace reprobench
