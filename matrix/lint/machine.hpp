// What this machine says of where a training would run: rendezvous variables, a port, offload folders, shared memory.
// Read-only but for a port that is bound for a moment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "matrix/lint/situation.hpp"

namespace reprobench {

// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, as far as they are set.
std::map<std::string, std::string> rendezvous_environment();

// Whether something on this host listens on the port. Nothing if the address is not this host's, or the port is none.
std::optional<bool> is_port_taken(const std::string& address, const std::string& port);

OffloadFolder look_at_folder(const std::string& path);

std::optional<std::int64_t> shared_memory_bytes();  // of /dev/shm; nothing if there is none

}  // namespace reprobench
