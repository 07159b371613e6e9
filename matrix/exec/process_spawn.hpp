// posix_spawn as for every child of the coordinator: with default signals, an empty signal mask, and only the
// descriptors that it was given.
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
  bool own_group = false;                                         // make it the first process of a new process group
};

// Waits a little and tries again while the system lacks processes or memory. Throws std::system_error.
pid_t spawn_process(const SpawnRequest& request);

}  // namespace reprobench
