// posix_spawn with what every child of the coordinator gets: default signals, an empty signal mask, no descriptor but
// those it was given.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace reprobench {

struct SpawnRequest {
  std::vector<std::string> command;                               // command[0] is a path; PATH is not searched
  std::optional<std::map<std::string, std::string>> environment;  // nothing: this process's own
  std::string working_directory;                                  // empty: this process's own
  std::vector<std::pair<int, int>> descriptors;                   // (ours, child's); child's 0, 1 and 2 default to null
  bool own_group = false;                                         // first process of a new process group
};

// Waits a little and tries again while the system is out of processes or memory. Throws std::system_error.
pid_t spawn_process(const SpawnRequest& request);

}  // namespace reprobench
