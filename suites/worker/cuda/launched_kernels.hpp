// Which kernels a piece of code runs on the GPU, seen through LibTorch's profiler (Kineto over CUPTI).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace reprobench {

// Calls `work` once, waits for the device and returns the kernels' names in the order they ran; copies and fills are no
// kernels. Empty where CUPTI may not watch. The profiler slows what it watches, so nothing is timed meanwhile.
std::vector<std::string> launched_kernels(const std::function<void()>& work);

}  // namespace reprobench
