// Tells from an error on a device whether the device cannot do an operation.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "matrix/contract/device/device_facts.hpp"

namespace reprobench {

// Whether an exception's text says that LibTorch, or oneDNN below it, has no kernel for this operation on this device.
// Any other exception is a failure: a setting that LibTorch refuses, or a library's error.
bool is_not_implemented(std::string_view what);

// The first line of an exception's text, which says what is wrong. LibTorch's carry a trace of calls after it.
std::string first_line(const std::exception& error);

// Why a GPU has no arithmetic of this type ("tf32", "bf16", "fp8"), by its compute capability; empty where it has, and
// on a CPU (no facts).
std::string lacks_type(const DeviceFacts& device, std::string_view dtype);

}  // namespace reprobench
