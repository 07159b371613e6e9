// Which of LibTorch's operators do the work of a piece of code on the CPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace reprobench {

// Calls `work` once and returns the operators that left the work to no other, in the order they ended:
// "aten::mkldnn_convolution". Those that only allocate, fill, copy, read or show a tensor otherwise are left out.
std::vector<std::string> innermost_operators(const std::function<void()>& work);

}  // namespace reprobench
