#include "matrix/cli/verbs/max_batch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/available_memory.hpp"
#include "matrix/cli/project.hpp"
#include "matrix/cli/text/batch_fit_text.hpp"
#include "matrix/cli/verbs/knob_options.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/exec/memory_question.hpp"
#include "matrix/lint/option_text.hpp"
#include "matrix/provision/stack_store.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

// What the stack's worker said of itself when it was built; asked anew only where that cannot be read.
Capability capability_of(const std::string& stack, const Project& project) {
  const StackStore store = project.stack_store();
  const InstalledStack installed = store.find(project.stacks().at(stack));
  if (auto known = store.description(installed)) return std::move(*known);
  return store.describe(installed);
}

const WorkloadPreset& preset_named(const Capability& capability, const std::string& model, const std::string& preset) {
  std::vector<std::string> names;
  for (const WorkloadDescription& workload : capability.workloads) names.push_back(workload.model);
  const auto workload = std::ranges::find(capability.workloads, model, &WorkloadDescription::model);
  if (workload == capability.workloads.end()) throw UsageError(unknown_name("model", model, names));
  names.clear();
  for (const WorkloadPreset& candidate : workload->presets) names.push_back(candidate.name);
  if (preset.empty()) return workload->presets.front();
  const auto found = std::ranges::find(workload->presets, preset, &WorkloadPreset::name);
  if (found == workload->presets.end()) throw UsageError(unknown_name("preset of " + model, preset, names));
  return *found;
}

std::int64_t memory_of(const std::string& option) {
  if (option.empty()) return available_memory_bytes();
  const auto bytes = memory_size(option);
  if (!bytes) throw UsageError(fmt::format("--memory must be a size such as 4GB or 80GiB, got `{}`", option));
  return *bytes;
}

AskMemory by_worker(const BatchFit& fit, const WorkerCommand& worker) {
  CellRequest request;
  request.stack = fit.stack;
  request.device = "cpu";
  request.workload.model = fit.model;
  request.workload.preset = fit.preset;
  return [request, worker](const std::vector<BatchQuestion>& questions) {
    std::vector<CellRequest> requests;
    for (const BatchQuestion& question : questions) {
      requests.push_back(request);
      requests.back().workload.batch_size = question.batch_size;
      requests.back().knobs = question.knobs;
    }
    return predicted_needs(requests, worker);
  };
}

}  // namespace

ExitCode max_batch(const MaxBatchOptions& options, const Context& context) {
  const Project project(context.store);
  BatchFit fit;
  fit.asked.knobs = without_defaults(given_knobs(options.knobs));
  fit.available_bytes = memory_of(options.memory);
  fit.available_source = options.memory.empty() ? "free" : "--memory";
  fit.wished_batch = options.batch_size;
  fit.stack = options.stack.empty() ? any_installed_stack(project) : options.stack;
  const auto given = given_workers(options.workers);
  require_known_stacks(given, project);
  const WorkerCommand worker = worker_commands({fit.stack}, project, given).at(fit.stack);
  fit.model = options.model;
  fit.preset = preset_named(capability_of(fit.stack, project), options.model, options.preset).name;
  fit = fitted(std::move(fit), by_worker(fit, worker));
  if (options.json) {
    context.terminal.out_document(written(fit));
  } else {
    context.terminal.out(batch_fit_text(fit));
  }
  return exit_code_of(fit);
}

}  // namespace reprobench
