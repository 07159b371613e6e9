// The result of an attempt that ends in std::terminate.
//
// After a fault of a GPU (an illegal address, a failed device assert) every further call of CUDA fails. LibTorch makes
// some where tensors die: page-locked memory that a queued copy has read records an event as it is given back. What
// that throws leaves a destructor, and the process ends before anybody can catch it or the fault that came first. Here
// it still says why, and exits like any other failed attempt; killed by SIGABRT it would count as a crash without a
// cause.
#pragma once

#include <exception>
#include <functional>

#include "matrix/contract/result.hpp"

namespace reprobench {

inline constexpr int kFailedExit = 1;  // with a result that says why

class LastWords {
 public:
  // Until destruction, on any thread of the process: std::terminate because of an exception notes that one as the
  // failure, unless `result` has one already, calls `write` and exits. Without either it aborts as ever. One at a time.
  LastWords(CellResult& result, std::function<void()> write);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  [[noreturn]] static void end_process();
  bool say();

  CellResult& result_;
  std::function<void()> write_;
  std::terminate_handler before_;
};

}  // namespace reprobench
