#include <memory>

#include <CLI/CLI.hpp>

#include "matrix/cli/host_memory.hpp"
#include "matrix/cli/text/plan_text.hpp"
#include "matrix/cli/text/stack_answer_text.hpp"
#include "matrix/cli/verbs/selection.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/cli/worker_commands.hpp"

namespace reprobench {

std::function<ExitCode()> declare_plan(CLI::App& app, Context& context) {
  struct Options {
    SelectionOptions selection;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  add_selection_options(app, options->selection);
  app.add_flag("--json", options->json, "The plan as one JSON document (schema: plan)");
  return [options, &context] {
    const Project project(context.store);
    SelectedPlan selected = make_plan(project, options->selection);
    const auto workers = installed_worker_commands(stacks_to_run(selected.plan), project, {});
    context.terminal.log(preset_note(selected) + fit_into_host_memory(selected.plan, workers).note +
                         not_installed_note(selected.plan, workers));
    if (options->json) {
      write_plan(selected.plan, [&](std::string_view part) { context.terminal.out_part(part); });
    } else {
      plan_table(selected.plan, context.terminal, [&](std::string_view part) { context.terminal.out(part); });
      const auto stacks = project.stacks();
      const CompatFacts facts = project.facts();
      context.terminal.out(coverage_text(selected.plan, stacks, facts) +
                           known_defects_text(selected.plan, stacks, facts));
    }
    return selected_cells(selected.plan) == 0 ? ExitCode::nothing_ran : ExitCode::passed;
  };
}

}  // namespace reprobench
