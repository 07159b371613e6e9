// How each stack's worker is started on this host.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "matrix/cli/project.hpp"
#include "matrix/exec/executor.hpp"

namespace reprobench {

// Reads "torch-2.9.0-cu128=/path/worker --flag": the worker, and the arguments that follow `run REQUEST` on its command
// line.
std::map<std::string, WorkerCommand> given_workers(const std::vector<std::string>& options);

// Throws UsageError for a worker of an unknown stack, since no cell would ever run it.
void require_known_stacks(const std::map<std::string, WorkerCommand>& workers, const Project& project);

// The first stack that is installed with its worker, for a command that names none. Throws UsageError if there is none.
std::string any_installed_stack(const Project& project);

// Returns `workers` and, for every stack that is not among them, its installed worker. Throws UsageError that names
// every stack that is not installed, and every installed library that has changed.
std::map<std::string, WorkerCommand> worker_commands(const std::set<std::string>& stacks, const Project& project,
                                                     std::map<std::string, WorkerCommand> workers);

// The same, without the stacks that are not installed.
std::map<std::string, WorkerCommand> installed_worker_commands(const std::set<std::string>& stacks,
                                                               const Project& project,
                                                               std::map<std::string, WorkerCommand> workers);

// For a plan that is only shown: "not installed: a b; to run the plan: reprobench stack install a b"; empty if all are.
std::string not_installed_note(const Plan& plan, const std::map<std::string, WorkerCommand>& workers);

// The libraries that the workers of installed stacks have to load. Throws UsageError that names a library that has
// changed.
std::map<std::string, InstalledLibraries> installed_libraries(const std::set<std::string>& stacks,
                                                              const Project& project);

}  // namespace reprobench
