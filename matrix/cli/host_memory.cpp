#include "matrix/cli/host_memory.hpp"

#include "matrix/base/available_memory.hpp"
#include "matrix/exec/memory_question.hpp"
#include "matrix/plan/memory_fit.hpp"
#include "matrix/spec/files/own_files.hpp"

namespace reprobench {

namespace {

// What one stack's worker has against a model's weights, the others' have as well.
void check_weights(const Plan& plan, const CellNeeds& needs) {
  Diagnostics diagnostics;
  std::set<std::string> models;
  for (const PlannedCell& planned : plan.cells) {
    const WorkloadRequest& workload = planned.cell.request.workload;
    if (!planned.skip && !workload.weights_file.empty()) models.insert(workload.model);
  }
  const std::string hint = models.size() > 1 ? "`--workload NAME` keeps to the cells of one model" : "";
  std::set<std::vector<std::string>> told;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const std::vector<std::string>& problems = needs.at(i).weights_problems;
    if (problems.empty() || !told.insert(problems).second) continue;
    report_refused_weights(plan.cells[i].cell.request.workload, problems, hint, diagnostics);
  }
  diagnostics.throw_if_any();
}

}  // namespace

HostMemory fit_into_host_memory(Plan& plan, const std::map<std::string, WorkerCommand>& workers) {
  const auto needs = predicted_needs(plan, workers);
  check_weights(plan, needs);
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
