// Finds the kernels that a piece of code runs on the GPU, through LibTorch's profiler (Kineto over CUPTI).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace reprobench {

// Calls `work` once, waits for the device and returns the kernels' names in the order they ran; copies and fills are no
// kernels. Empty where CUPTI may not watch. The profiler slows the work that it watches, so nothing must be timed
// meanwhile.
std::vector<std::string> launched_kernels(const std::function<void()>& work);

}  // namespace reprobench
