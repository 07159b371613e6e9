// What of a plan fits into the memory that is free here: the same question in `plan`, `run --dry-run` and `run`.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "matrix/exec/executor.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

struct HostMemory {
  std::int64_t available_bytes = 0;
  std::string note;  // on cells whose need nobody predicted; ends a line, or is empty
};

// Asks the workers, a process each, and skips the cells that do not fit. Throws SpecError for weights of the user's
// that are not their models'.
HostMemory fit_into_host_memory(Plan& plan, const std::map<std::string, WorkerCommand>& workers);

std::set<std::string> stacks_to_run(const Plan& plan);

}  // namespace reprobench
