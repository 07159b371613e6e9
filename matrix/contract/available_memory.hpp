// How much memory a process may still take on this host.
#pragma once

#include <cstdint>

namespace reprobench {

// What the kernel says it can hand out without swapping, or what is left of the control group's limit if that is less
// (cgroup v2, as containers see their own group). Throws std::runtime_error where the kernel says nothing.
std::int64_t available_memory_bytes();

}  // namespace reprobench
