// The GPUs that this process sees, and their facts.
#pragma once

#include <string>

#include "matrix/contract/device/device_facts.hpp"

namespace reprobench {

// The description that LibTorch's CUDA part gives of its build, with the architectures it has code for. Needs a GPU.
std::string cuda_build_text();

// The facts of the one GPU that the coordinator shows a process, which is the first that it sees. Throws RunFailure
// with the cause if there is none.
DeviceFacts first_device();

// The facts of the device with this index in this process. Throws RunFailure.
DeviceFacts probe_device(int index);

}  // namespace reprobench
