// The mounts of an enclosure, in a mount namespace of this process alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/exec/enclosure/spine.hpp"

namespace reprobench {

// What a folder of an unpacked root holds, by the names inside.
std::vector<SpineEntry> entries_of_folder(const std::string& root, const std::string& folder);

// Makes `spine` the root of this process: nothing of the host but what it names stays in reach. `shared_memory_bytes`:
// of /dev/shm. One line on what failed, or nothing.
std::string enter_spine(const std::string& root, const Spine& spine, std::int64_t shared_memory_bytes);

}  // namespace reprobench
