// What a worker built with CUDA adds (cuda/), and what one built without says instead (without_cuda/).
#pragma once

#include <memory>
#include <string>

#include "suites/worker/device.hpp"

namespace reprobench {

// The first GPU this process sees, which must be of class `name`. Throws RunFailure.
std::unique_ptr<ComputeDevice> open_cuda(const std::string& name, const DeviceOptions& options);

// The cause, in the words of a result, behind the text of an exception that LibTorch threw because CUDA failed; empty
// if CUDA has nothing to do with it.
std::string cuda_failure_cause(const std::string& text);

}  // namespace reprobench
