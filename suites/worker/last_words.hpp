// The result of an attempt that ends in std::terminate.
//
// After a fault of a GPU (an illegal address, a failed device assert) every further call of CUDA fails. LibTorch makes
// some where tensors die: page-locked memory that a queued copy has read records an event as it is given back. The
// exception of such a call leaves a destructor, so the process ends before anybody can catch it, or the fault that came
// first. Here the process still says why, and exits like any other failed attempt. Killed by SIGABRT, it would count as
// a crash without a cause.
#pragma once

#include <exception>
#include <functional>

#include "matrix/contract/result.hpp"

namespace reprobench {

inline constexpr int kFailedExit = 1;  // with a result that says why

class LastWords {
 public:
  // Until destruction, on any thread of the process: an exception that leads to std::terminate becomes the failure in
  // `result`, unless that has one already. Then `write` is called and the process exits. With neither exception nor
  // failure it aborts as usual. At most one object exists at a time.
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
