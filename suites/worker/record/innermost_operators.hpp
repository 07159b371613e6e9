// Which of LibTorch's operators do the work of a piece of code on the CPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace reprobench {

struct OperatorCall;

// Calls `work` once and returns the operators that left the work to no other, in the order they ended:
// "aten::mkldnn_convolution". Those that only allocate, fill, copy, read or show a tensor otherwise are left out.
std::vector<std::string> innermost_operators(const std::function<void()>& work);

// Tells those from others while calls are shown: who did the work of the calls under way.
class WorkUnderWay {
 public:
  void begin() { by_others_.push_back(false); }
  // Of the innermost call under way, which ends: whether it did its work itself.
  bool end(const OperatorCall& call);

 private:
  std::vector<bool> by_others_;  // whether a call below did work
};

}  // namespace reprobench
