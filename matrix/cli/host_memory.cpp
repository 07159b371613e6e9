#include "matrix/cli/host_memory.hpp"

#include "matrix/contract/available_memory.hpp"
#include "matrix/exec/memory_question.hpp"
#include "matrix/plan/memory_fit.hpp"

namespace reprobench {

HostMemory fit_into_host_memory(Plan& plan, const std::map<std::string, WorkerCommand>& workers) {
  const auto needs = predicted_needs(plan, workers);
  const std::int64_t available_bytes = available_memory_bytes();
  fit_into_memory(plan.cells, needs, available_bytes);
  return {available_bytes, unpredicted_note(plan.cells, needs)};
}

std::set<std::string> stacks_to_run(const Plan& plan) {
  std::set<std::string> stacks;
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.skip) stacks.insert(planned.cell.request.stack);
  }
  return stacks;
}

}  // namespace reprobench
