#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/replay_host.hpp"
#include "matrix/cli/verb.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/inquiry/compared_sides.hpp"
#include "matrix/inquiry/ensemble.hpp"
#include "matrix/provision/stack_store.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

struct CalibrateOptions {
  std::string stack;
  WorkloadChoice workload;
  int members = 8;
  bool again = false;
  bool json = false;
};

std::string to_text(const EnsembleEnvelope& measured) {
  const Envelope& envelope = measured.envelope;
  std::string text = fmt::format("{}: {} runs with one weight moved by 1 ulp\n", envelope.stack, envelope.members);
  text += "  steps   furthest member, relative L2 of the parameters\n";
  std::vector<double> steps;
  std::vector<double> distances;
  for (const TrajectoryPoint& point : envelope.points) {
    text += fmt::format("  {:<7} {:.3g}\n", point.step, point.distance_rel);
    steps.push_back(static_cast<double>(point.step));
    distances.push_back(point.distance_rel);
  }
  if (const auto fitted = growth(steps, distances)) {
    text += fmt::format("  grows as step^{:.2f}, doubling every {:.3g} steps\n", fitted->alpha, fitted->doubling_steps);
  }
  text += envelope.horizon_step
              ? fmt::format("  horizon: step {} ({})\n", *envelope.horizon_step, envelope.horizon_reason)
              : std::string("  horizon: not reached\n");
  return text + fmt::format("  {} {}\n", measured.is_new ? "written to" : "known from", measured.file.string());
}

ExitCode calibrate(const CalibrateOptions& options, Context& context) {
  const Project project(context.store);
  const StackFiles files = project.stack_files();
  files.require_readable(options.stack);
  const auto& specs = files.stacks;
  if (specs.count(options.stack) == 0)
    throw UsageError(unknown_name("stack", options.stack, project.vocabulary().stacks));
  ReplayHost host(project, worker_commands({options.stack}, project, {}));
  Replays& replays = host.replays();
  const StackStore store = project.stack_store();
  const Capability capability = store.describe(store.find(specs.at(options.stack)));
  context.terminal.log(fmt::format("running {} on {}\n", options.workload.model, options.stack));
  const ComparedSide base = side_of_stack(options.stack, options.workload, capability, replays);
  const auto announce = [&](const std::string& line) { context.terminal.log(line + "\n"); };
  const auto measured = envelope_around(base, options.members, options.again, project.store(), replays, announce);
  if (options.json) {
    context.terminal.out_document(to_json(measured.envelope));
  } else {
    context.terminal.out(to_text(measured));
  }
  return ExitCode::passed;
}

}  // namespace

std::function<ExitCode()> declare_calibrate(CLI::App& app, Context& context) {
  auto options = std::make_shared<CalibrateOptions>();
  options->workload.steps = 200;
  app.add_option("stack", options->stack, "The stack whose drift is measured")->required()->type_name("STACK");
  app.add_option("--model", options->workload.model, "The workload")->capture_default_str();
  app.add_option("--preset", options->workload.preset, "Its preset; default: its first");
  app.add_option("--steps", options->workload.steps, "Its steps")->check(CLI::Range(4, 1000000))->capture_default_str();
  app.add_option("--members", options->members, "Runs with one weight moved")
      ->check(CLI::Range(2, 256))
      ->capture_default_str();
  app.add_flag("--again", options->again, "Measure anew what is known already");
  app.add_flag("--json", options->json, "One JSON document (schema: envelope)");
  return [options, &context] { return calibrate(*options, context); };
}

}  // namespace reprobench
