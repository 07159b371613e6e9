// Finds the calls of oneDNN and MKL that do the work of a piece of code on the CPU, by their own verbose output.
// LibTorch's operators do not show them: on another CPU the same operator may take another library, or another
// implementation of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "suites/worker/record/library_text.hpp"

namespace reprobench {

struct LibraryCalls {
  std::vector<std::string> calls;  // LibraryText's
  std::string unheard;             // why some may be missing; empty where both libraries told all and were understood
};

// Calls `work` once, with both libraries verbose and standard output caught meanwhile. Output of others is passed on.
// Exceptions of `work` come through, with both libraries silent again. It is slow: nothing must be timed in it.
LibraryCalls library_calls(const std::function<void()>& work);

// While it lives, both libraries are verbose and standard output is caught. Afterwards the libraries are silent, and
// output of others is passed on. At most one may exist, on a thread that waits for the libraries' work.
class HeardLibraries {
 public:
  HeardLibraries();
  ~HeardLibraries();
  HeardLibraries(const HeardLibraries&) = delete;
  HeardLibraries& operator=(const HeardLibraries&) = delete;

  // The output of the libraries since the last call, and the processors whose code MKL takes, if it has told that in
  // this process. Nothing if standard output could not be caught.
  LibraryText take();

  // Why calls may be missing in any case; empty if both libraries can be made verbose.
  std::string unheard() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string others_;
};

}  // namespace reprobench
