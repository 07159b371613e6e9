// Which calls of oneDNN and MKL do the work of a piece of code on the CPU, by their own verbose output. LibTorch's
// operators do not show them: one operator takes another library, or another of its implementations, on another CPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace reprobench {

struct LibraryCalls {
  std::vector<std::string> calls;  // LibraryText's
  std::string unheard;  // why some may be missing; empty where both libraries could be asked and were understood
};

// Calls `work` once, with both libraries verbose and standard output caught meanwhile; what others wrote there is
// passed on. Whatever `work` throws is thrown on, with both silent again. Slow: nothing is to be timed in it.
LibraryCalls library_calls(const std::function<void()>& work);

}  // namespace reprobench
