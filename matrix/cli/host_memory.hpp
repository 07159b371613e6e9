// Which cells of a plan fit into the memory that is free here. `plan`, `run --dry-run` and `run` all ask this question.
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
  std::string note;  // on cells whose memory nobody predicted; a whole line, or empty
};

// Asks each worker in a process of its own, and skips the cells that do not fit. Throws SpecError for a user's weights
// that do not belong to their models.
HostMemory fit_into_host_memory(Plan& plan, const std::map<std::string, WorkerCommand>& workers);

std::set<std::string> stacks_to_run(const Plan& plan);

}  // namespace reprobench
