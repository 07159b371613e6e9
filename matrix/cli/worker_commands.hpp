// How each stack's worker is started on this host.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "matrix/cli/project.hpp"
#include "matrix/exec/executor.hpp"

namespace reprobench {

// "torch-2.9.0-cu128=/path/worker --flag": the worker and what follows `run REQUEST` on its command line.
std::map<std::string, WorkerCommand> given_workers(const std::vector<std::string>& options);

// Throws UsageError for a worker of a stack that nobody knows: no cell would ever run it.
void require_known_stacks(const std::map<std::string, WorkerCommand>& workers, const Project& project);

// The first stack that is installed with its worker, for whoever names none. Throws UsageError where none is.
std::string any_installed_stack(const Project& project);

// `workers` and, for every stack that is not among them, its installed worker. Throws UsageError naming every stack
// that is not installed, and every library of theirs that is not the one that was.
std::map<std::string, WorkerCommand> worker_commands(const std::set<std::string>& stacks, const Project& project,
                                                     std::map<std::string, WorkerCommand> workers);

// The same without those that are not installed.
std::map<std::string, WorkerCommand> installed_worker_commands(const std::set<std::string>& stacks,
                                                               const Project& project,
                                                               std::map<std::string, WorkerCommand> workers);

// What the workers of those that are installed have to load. Throws UsageError naming a library that has changed.
std::map<std::string, InstalledLibraries> installed_libraries(const std::set<std::string>& stacks,
                                                              const Project& project);

}  // namespace reprobench
