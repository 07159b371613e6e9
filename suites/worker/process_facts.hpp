// Facts about this process from the kernel.
#pragma once

#include <cstdint>

namespace reprobench {

// Time since the process was started, before its loader ran. The kernel keeps the start in ticks of 10 ms, so the value
// is up to 10 ms too large.
std::int64_t since_process_start_ns();

// Mapped files, LibTorch's libraries above all, count as resident by as much as the kernel's page cache hands over at a
// page fault. That differs by 10 MiB between two runs of one binary. Memory that maps no file is the training's own.
struct ResidentMemory {
  std::int64_t all_bytes = 0;
  std::int64_t anonymous_bytes = 0;
};
ResidentMemory resident_memory();

// "AMD EPYC ...", empty if the kernel does not name it.
const char* cpu_model();

}  // namespace reprobench
