// Finds the operators of LibTorch that do the work of a piece of code on the CPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace reprobench {

struct OperatorCall;

// Calls `work` once and returns the operators that left the work to no other operator, in the order they ended:
// "aten::mkldnn_convolution". Operators that only allocate, fill, copy, read or view a tensor are left out.
std::vector<std::string> innermost_operators(const std::function<void()>& work);

// Tells these operators from others while calls are shown: it knows for each call under way whether a call inside it
// did the work.
class WorkUnderWay {
 public:
  void begin() { by_others_.push_back(false); }
  // Called when the innermost call under way ends. Returns whether it did its work itself.
  bool end(const OperatorCall& call);

 private:
  std::vector<bool> by_others_;  // for each call under way, whether a call inside it did work
};

}  // namespace reprobench
