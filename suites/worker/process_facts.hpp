// What the kernel says about this process.
#pragma once

#include <cstdint>

namespace reprobench {

// Time since the process was started, before its loader ran. The kernel keeps the start in ticks of 10 ms, so the value
// is up to 10 ms too large.
std::int64_t since_process_start_ns();

// Resident set now, and its high-water mark since exec. (getrusage would count the parent's memory before exec as
// well.)
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

// What this process may still take without anything being swapped or killed: of the machine, or of its control group
// where that is less.
std::int64_t available_memory_bytes();

// "AMD EPYC ...", empty if the kernel does not name it.
const char* cpu_model();

}  // namespace reprobench
