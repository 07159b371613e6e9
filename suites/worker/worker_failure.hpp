// What a result says of whatever was thrown.
#pragma once

#include <cstdint>
#include <exception>

#include "matrix/contract/result.hpp"

namespace reprobench {

// `thrown` is no null pointer. The first line of its text alone: LibTorch appends a stack trace of the worker, which
// differs between runs and explains nothing.
WorkerFailure failure_of(const std::exception_ptr& thrown, std::int64_t steps_completed);

}  // namespace reprobench
