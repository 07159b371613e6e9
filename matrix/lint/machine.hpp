// Facts about this machine as a place for a training: rendezvous variables, a port, offload folders, shared memory. It
// only reads, except that a port is bound for a moment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "matrix/lint/situation.hpp"

namespace reprobench {

// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, if they are set.
std::map<std::string, std::string> rendezvous_environment();

// Whether a process on this host listens on the port. Nothing if the address is not this host's, or the port is
// invalid.
std::optional<bool> is_port_taken(const std::string& address, const std::string& port);

OffloadFolder look_at_folder(const std::string& path);

std::optional<std::int64_t> shared_memory_bytes();  // of /dev/shm; nothing if there is none

}  // namespace reprobench
