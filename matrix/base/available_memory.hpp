// How much memory a process may still take on this host.
#pragma once

#include <cstdint>
#include <filesystem>

namespace reprobench {

// What the kernel says it can hand out without swapping, or what is left of the limit of this process's control group
// (cgroup v2), or of one that holds it, if that is less. Page cache that a group would give back counts as left: a
// machine that has just read its wheels is not full. Throws std::runtime_error where the kernel says nothing.
std::int64_t available_memory_bytes();

// The same of the files below `root` ("/" on a machine), for tests.
std::int64_t available_memory_below(const std::filesystem::path& root);

}  // namespace reprobench
