// The mounts of an enclosure, in a mount namespace of this process alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/exec/enclosure/spine.hpp"

namespace reprobench {

// The entries of a folder of an unpacked root, by their names inside.
std::vector<SpineEntry> entries_of_folder(const std::string& root, const std::string& folder);

// What of this host is in the places that no image brings along.
struct NewPlaces {
  std::int64_t shared_memory_bytes = std::int64_t{1} << 30;  // of /dev/shm, and as much of /tmp: both are memory
  // Below /dev: nodes, and folders of nodes. With any, /sys is the host's, since libraries find out there how devices
  // are connected.
  std::vector<std::string> devices = {};
};

// Makes `spine` the root of this process, so that only the paths of the host in it stay in reach. Returns one line on
// what failed, or an empty text.
std::string enter_spine(const std::string& root, const Spine& spine, const NewPlaces& places);

}  // namespace reprobench
