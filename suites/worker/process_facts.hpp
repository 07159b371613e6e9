// What the kernel says about this process.
#pragma once

#include <cstdint>

namespace reprobench {

// Time since the process was started, before its loader ran. The kernel keeps the start in ticks of 10 ms, so the value
// is up to 10 ms too large.
std::int64_t since_process_start_ns();

// Mapped files, LibTorch's libraries above all, count as resident by as much as the kernel's page cache happens to hand
// over at a page fault: 10 MiB more or less in two runs of one binary. What is no file is the training's own.
struct ResidentMemory {
  std::int64_t all_bytes = 0;
  std::int64_t anonymous_bytes = 0;
};
ResidentMemory resident_memory();

// High-water mark since exec. (getrusage would count the parent's memory before exec as well.) The kernel keeps one of
// the whole set alone; the files mapped now are taken from it, which were mapped by then, but for what came later.
ResidentMemory peak_resident_memory();

// "AMD EPYC ...", empty if the kernel does not name it.
const char* cpu_model();

}  // namespace reprobench
