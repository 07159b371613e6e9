// What a device cannot do, told from what went wrong on it.
#pragma once

#include <string>
#include <string_view>

#include "matrix/contract/device/device_facts.hpp"

namespace reprobench {

// Whether an exception's text is LibTorch's way to say that it has no kernel for this on this device. Anything else
// that it throws is a failure: a setting it refuses, a library's error.
bool is_not_implemented(std::string_view what);

// Why a GPU has no arithmetic of this type ("tf32", "bf16", "fp8"), by its compute capability; empty where it has, and
// on a CPU (no facts).
std::string lacks_type(const DeviceFacts& device, std::string_view dtype);

}  // namespace reprobench
