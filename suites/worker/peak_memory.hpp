// The most memory that a training holds and that maps no file.
//
// The kernel keeps a high-water mark (VmHWM) of the whole resident set alone. Mapped files, LibTorch's libraries above
// all, are a part of it that comes and goes. For example, a kernel that is short of pages drops 100 MB of a library
// after the peak: the mark less the files mapped at the end is then 100 MB too large. If a library is loaded after the
// peak, it is too small. So the parts are read while the training runs: at the end of forward passes, where activations
// are alive, and at the end of steps.
#pragma once

#include <chrono>
#include <cstdint>

#include "suites/worker/process_facts.hpp"

namespace reprobench {

// Of /proc/self/status (proc(5)).
struct MemoryReading {
  std::int64_t peak_bytes = 0;       // VmHWM, of all parts together
  std::int64_t anonymous_bytes = 0;  // RssAnon
  std::int64_t shared_bytes = 0;     // RssShmem
  std::int64_t file_bytes = 0;       // RssFile
};
// Throws std::runtime_error if the kernel does not say one of them.
MemoryReading read_memory();

class PeakMemory {
 public:
  using Reader = MemoryReading (*)();

  // Reads once. The reader stands in for the kernel in tests.
  explicit PeakMemory(Reader read = &read_memory);

  // Reads if the last reading is some time ago, so that a step of less than a millisecond does not pay for it.
  void note();

  // Reads once more. `anonymous_bytes` is the most that anonymous and shared memory took, as far as the readings show
  // it. Where the mark rose between two of them, the peak lies between them. It is then the mark less the files mapped
  // at one of the two, whichever were more. A peak between two readings is missed only if files were dropped before it.
  ResidentMemory peak();

 private:
  void take(const MemoryReading& now);

  Reader read_;
  MemoryReading last_;
  std::chrono::steady_clock::time_point last_read_;
  ResidentMemory peak_;
};

}  // namespace reprobench
