// The mounts of an enclosure, in a mount namespace of this process alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/exec/enclosure/spine.hpp"

namespace reprobench {

// The entries of a folder of an unpacked root, by their names inside.
std::vector<SpineEntry> entries_of_folder(const std::string& root, const std::string& folder);

// Makes `spine` the root of this process, so that only the paths of the host in it stay in reach. `shared_memory_bytes`
// is the size of /dev/shm. Returns one line on what failed, or an empty text.
std::string enter_spine(const std::string& root, const Spine& spine, std::int64_t shared_memory_bytes);

}  // namespace reprobench
