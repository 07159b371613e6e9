// Which calls of oneDNN and MKL do the work of a piece of code on the CPU, by their own verbose output. LibTorch's
// operators do not show them: one operator takes another library, or another of its implementations, on another CPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "suites/worker/record/library_text.hpp"

namespace reprobench {

struct LibraryCalls {
  std::vector<std::string> calls;  // LibraryText's
  std::string unheard;  // why some may be missing; empty where both libraries could be asked and were understood
};

// Calls `work` once, with both libraries verbose and standard output caught meanwhile; what others wrote there is
// passed on. Whatever `work` throws is thrown on, with both silent again. Slow: nothing is to be timed in it.
LibraryCalls library_calls(const std::function<void()>& work);

// Both libraries verbose and standard output caught while it lives; afterwards they are silent, and what others wrote
// is passed on. One at a time, on a thread that waits for what the libraries do.
class HeardLibraries {
 public:
  HeardLibraries();
  ~HeardLibraries();
  HeardLibraries(const HeardLibraries&) = delete;
  HeardLibraries& operator=(const HeardLibraries&) = delete;

  // What they said since it was asked last, and whose code MKL takes where it has said so in this process. Nothing
  // where standard output could not be caught.
  LibraryText take();

  // Why calls may go unheard, whatever is done; empty where both can be asked.
  std::string unheard() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string others_;
};

}  // namespace reprobench
