#include "matrix/cli/verbs/compare_only.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "matrix/cli/hybrid_mixes.hpp"
#include "matrix/cli/only_component.hpp"
#include "matrix/cli/text/component_alone_text.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/provision/stack_store.hpp"

namespace reprobench {
namespace {

// A's worker says which presets there are.
CellRequest request_of(const CompareOnlyOptions& options, const Project& project, BisectedStacks& stacks) {
  for (const std::string& name : {options.measured, options.expected}) {
    if (const std::string& why_not = stacks.at(name).why_not; !why_not.empty()) {
      throw UsageError(fmt::format("{}: {}", name, why_not));
    }
  }
  const StackStore store = project.stack_store();
  const Capability capability = store.describe(store.find(project.stacks().at(options.measured)));
  return training_request("", options.workload, options.workload.measured_knobs, capability);
}

// Of these stacks, this work, and nothing that a bisect knows: all three are run anew.
std::string question_of(const CompareOnlyOptions& options, const CellRequest& request) {
  const nlohmann::json question = {{"only", options.component},
                                   {"measured", options.measured},
                                   {"expected", options.expected},
                                   {"workload", to_json(request.workload)},
                                   {"knobs", request.knobs}};
  return question.dump();
}

std::string workload_text(const WorkloadRequest& workload) {
  return fmt::format("{}/{}, {} steps of {}", workload.model, workload.preset, workload.steps, workload.batch_size);
}

ExitCode code_of_effect(const ComponentAlone& answer) {
  const std::optional<bool> effect = has_effect(answer);
  if (!effect) return ExitCode::undecided;
  return *effect ? ExitCode::failed : ExitCode::passed;
}

std::string comparison_command(const CompareOnlyOptions& options, const ComponentAlone& answer,
                               const WorkloadRequest& workload) {
  std::string command =
      fmt::format("reprobench compare {} {} --model {} --preset {} --steps {} --batch {}", options.measured, answer.mix,
                  workload.model, workload.preset, workload.steps, workload.batch_size);
  for (const auto& [name, value] : options.workload.measured_knobs)
    command += fmt::format(" --knob {}={}", name, value);
  return command + " --explain";
}

}  // namespace

ExitCode compare_only(const CompareOnlyOptions& options, Context& context) {
  const Project project(context.store);
  require_exchangeable(project, options.measured, options.expected, options.component);
  const std::vector<std::string> axis = {options.measured, options.expected};
  BisectedStacks stacks(project, context.terminal, {}, /*installs=*/false);
  const CellRequest request = request_of(options, project, stacks);
  BisectJournal journal(project.store(), question_of(options, request), /*again=*/true);
  const Terminal& terminal = context.terminal;
  const BisectScene scene{axis,
                          request,
                          stacks,
                          journal,
                          [&terminal](const std::string& line) { terminal.log(line + "\n"); },
                          /*is_of_components=*/true};
  HybridMixes mixes(project, stacks, options.measured, options.expected);
  ComponentAlone answer = effect_of_component(
      scene, mixes, {options.component, workload_text(request.workload), options.margin_percent / 100});
  if (answer.alone && !answer.alone->first_difference.empty()) {
    answer.commands.push_back(comparison_command(options, answer, request.workload));
  }
  if (options.json) {
    terminal.out_document(written(answer));
  } else {
    terminal.out(component_alone_text(answer));
  }
  return code_of_effect(answer);
}

}  // namespace reprobench
