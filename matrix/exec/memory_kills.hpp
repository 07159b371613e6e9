// Whether the kernel ended a rank because memory ran out. The signal alone does not tell, and a child that was killed
// so leaves no trace in a parent that goes on and exits with 0; the kernel's counters do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "matrix/contract/request.hpp"
#include "matrix/record/attempt_files.hpp"

namespace reprobench {

// How many processes the kernel has killed for memory, since it started or in a while.
struct MemoryKills {
  std::int64_t count = 0;
  bool of_host = false;  // of all the host, because this process's control group keeps no account
};

// Reads them for this process's control group (`memory.events` of version 2, `memory.oom_control` of version 1), else
// for the host. `root` is `/` but in tests. 0 where the kernel says nothing.
MemoryKills memory_kills(const std::filesystem::path& root = "/");

// One sentence if a rank that has ended lost a process so, given the kills while it ran; else "". A rank that passed
// does not when a process of its group was killed, whosever it was; a kill elsewhere on the host blames only a rank
// that died of SIGKILL.
std::string killed_for_memory(const RankFiles& files, const CellRequest& request, const MemoryKills& meanwhile);

}  // namespace reprobench
