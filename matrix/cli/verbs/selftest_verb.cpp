#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/replay_host.hpp"
#include "matrix/cli/text/selftest_text.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/provision/stack_store.hpp"

namespace reprobench {
namespace {

struct SelftestOptions {
  SelftestSettings settings;
  std::vector<std::string> workloads{"mlp/base", "gpt2/tiny"};
  bool json = false;
};

ExitCode selftest(SelftestOptions options, Context& context) {
  const Project project(context.store);
  SelftestSettings& settings = options.settings;
  if (settings.stack.empty()) settings.stack = any_installed_stack(project);
  for (const std::string& workload : options.workloads) {
    const auto slash = workload.find('/');
    if (slash == std::string::npos) throw UsageError("--workload takes MODEL/PRESET, got " + workload);
    settings.workloads.emplace_back(workload.substr(0, slash), workload.substr(slash + 1));
  }
  settings.state = std::min(settings.state, settings.steps - 1);
  ReplayHost host(project, worker_commands({settings.stack}, project, {}));
  const StackStore store = project.stack_store();
  const Capability capability = store.describe(store.find(project.stacks().at(settings.stack)));
  context.terminal.log(fmt::format("planting faults on {}\n", settings.stack));
  const auto rows = run_selftest(settings, capability, host.replays(),
                                 [&](const std::string& line) { context.terminal.status(line); });
  if (options.json) {
    context.terminal.out_document(written(SelftestDocument{settings, rows}));
  } else {
    context.terminal.out(to_text(rows, settings, context.terminal));
  }
  return exit_code_of(rows, settings);
}

}  // namespace

std::function<ExitCode()> declare_selftest(CLI::App& app, Context& context) {
  auto options = std::make_shared<SelftestOptions>();
  SelftestSettings& settings = options->settings;
  app.footer(app.get_footer() +
             "\nExit codes of selftest: 0 every planted fault was found where it is and judged right, and no clean run "
             "raised an "
             "alarm;\n1 one was missed or misjudged, or a clean run differed;\n3 no fault, or none of a kind that was "
             "asked for, changed a bit.");
  app.add_option("--stack", settings.stack, "The stack to plant faults on; default: the first that is installed");
  app.add_option("--workload", options->workloads, "MODEL/PRESET, may be repeated")->capture_default_str();
  app.add_option("--fault", settings.faults, "Only this kind, may be repeated; default: all");
  app.add_flag("--once", settings.once, "Each fault on the first workload alone that can have it");
  app.add_option("--placements", settings.placements, "Random places of each fault")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--clean", settings.clean_pairs, "Clean runs in fresh processes")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  app.add_option("--steps", settings.steps, "Steps of each run")->check(CLI::Range(4, 100000))->capture_default_str();
  app.add_option("--state", settings.state, "The step after which the fp64 judgement begins")->capture_default_str();
  app.add_option("--batches", settings.batches, "On how many batches whole steps are compared with fp64; 0: none")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--explained", settings.explained,
                 "How many placements of each operator fault `compare --explain` has to explain")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "Chooses the places of the faults: another seed, other places")
      ->capture_default_str();
  app.add_flag("--json", options->json, "One JSON document (schema: selftest)");
  return [options, &context] { return selftest(*options, context); };
}

}  // namespace reprobench
