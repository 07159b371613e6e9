// How much memory a process may still take on this host.
#pragma once

#include <cstdint>
#include <filesystem>

namespace reprobench {

// The memory that the kernel says it can hand out without swapping. If a control group (cgroup v2) that holds this
// process has less left of its limit, it is that. Page cache that a group would give back counts as left, so a machine
// that has just read its wheels is not full. Throws std::runtime_error if the kernel does not report it.
std::int64_t available_memory_bytes();

// The same from the files below `root` ("/" on a machine), for tests.
std::int64_t available_memory_below(const std::filesystem::path& root);

}  // namespace reprobench
