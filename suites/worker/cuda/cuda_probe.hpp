// Which GPUs this process sees, and what they are.
#pragma once

#include <string>

#include "matrix/contract/device/device_facts.hpp"

namespace reprobench {

// What LibTorch's CUDA part says of its build, the architectures it has code for among it. Needs a GPU.
std::string cuda_build_text();

// The one GPU that the coordinator shows a process, the first of those it sees. Throws RunFailure with the cause if
// there is none.
DeviceFacts first_device();

// Of the device with this index in this process. Throws RunFailure.
DeviceFacts probe_device(int index);

}  // namespace reprobench
