#include <memory>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/replay_host.hpp"
#include "matrix/cli/text/lockstep_bounds_text.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/cli/verbs/knob_options.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/inquiry/compared_sides.hpp"
#include "matrix/inquiry/ensemble.hpp"
#include "matrix/provision/stack_store.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

struct CalibrateOptions {
  std::string stack;
  WorkloadChoice workload;
  std::vector<std::string> knobs;  // NAME=VALUE
  int members = 8;
  bool again = false;
  bool lockstep = false;
  std::string against;  // another stack
  int batches = 32;
  bool json = false;
};

std::string to_text(const EnsembleEnvelope& measured) {
  const Envelope& envelope = measured.envelope;
  TextTable table("  <7 <");
  table.line("{}: {} runs with one weight moved by 1 ulp", envelope.stack, envelope.members);
  table.row("steps", "furthest member, relative L2 of the parameters");
  std::vector<double> steps;
  std::vector<double> distances;
  for (const TrajectoryPoint& point : envelope.points) {
    table.row(point.step, fmt::format("{:.3g}", point.distance_rel));
    steps.push_back(static_cast<double>(point.step));
    distances.push_back(point.distance_rel);
  }
  if (const auto fitted = growth(steps, distances)) {
    table.line("  grows as step^{:.2f}, doubling every {:.3g} steps", fitted->alpha, fitted->doubling_steps);
  }
  table.line("{}", envelope.horizon_step
                       ? fmt::format("  horizon: step {} ({})", *envelope.horizon_step, envelope.horizon_reason)
                       : "  horizon: not reached");
  table.line("  {} {}", measured.is_new ? "written to" : "known from", measured.file.string());
  return table.text();
}

// The stacks that are asked for, ready to be run.
class Calibration {
 public:
  Calibration(const CalibrateOptions& options, Context& context)
      : options_(options), terminal_(context.terminal), project_(context.store), files_(project_.stack_files()) {
    std::set<std::string> stacks = {options.stack};
    if (!options.against.empty()) stacks.insert(options.against);
    for (const std::string& stack : stacks) stack_named(files_, stack);
    host_.emplace(project_, worker_commands(stacks, project_, {}));
  }

  ExitCode measure_envelope() {
    const ComparedSide base = side(options_.stack);
    const auto measured =
        envelope_around(base, options_.members, options_.again, project_.store(), host_->replays(), announce_);
    if (options_.json) {
      terminal_.out_document(to_json(measured.envelope));
    } else {
      terminal_.out(to_text(measured));
    }
    return ExitCode::passed;
  }

  // Measured anew every time, in the place of what was kept, also where it must not be used.
  ExitCode measure_bounds() {
    const ComparedSide base = side(options_.stack);
    std::optional<ComparedSide> other;
    if (!options_.against.empty()) other = side(options_.against);
    const LockstepBounds bounds =
        measure_lockstep_bounds(base, other ? &*other : nullptr, options_.batches, host_->replays(), announce_);
    const auto file = lockstep_bounds_file(bounds, project_.store());
    std::filesystem::create_directories(file.parent_path());
    write_file_atomically(file, to_json(bounds).dump(1) + "\n");
    if (options_.json) {
      terminal_.out_document(to_json(bounds));
    } else {
      terminal_.out(to_text(bounds) + fmt::format("  written to {}\n", file.string()));
    }
    return is_complete(bounds) ? ExitCode::passed : ExitCode::undecided;
  }

 private:
  ComparedSide side(const std::string& stack) {
    const StackStore store = project_.stack_store();
    const Capability capability = store.describe(store.find(files_.stacks.at(stack)));
    terminal_.log(fmt::format("running {} on {}\n", options_.workload.model, stack));
    return side_of_stack(stack, options_.workload, capability, host_->replays());
  }

  const CalibrateOptions& options_;
  const Terminal& terminal_;
  Project project_;
  StackFiles files_;
  std::optional<ReplayHost> host_;
  Announce announce_ = [this](const std::string& line) { terminal_.log(line + "\n"); };
};

ExitCode calibrate(CalibrateOptions& options, Context& context) {
  if (options.against == options.stack) throw UsageError("--against takes another stack than " + options.stack);
  options.workload.expected_knobs = given_knobs(options.knobs);
  Calibration calibration(options, context);
  return options.lockstep ? calibration.measure_bounds() : calibration.measure_envelope();
}

}  // namespace

std::function<ExitCode()> declare_calibrate(CLI::App& app, Context& context) {
  auto options = std::make_shared<CalibrateOptions>();
  options->workload.steps = 200;
  app.add_option("stack", options->stack, "The stack whose drift is measured")->required()->type_name("STACK");
  app.add_option("--model", options->workload.model, "The model to train")->capture_default_str();
  app.add_option("--preset", options->workload.preset, "The model's preset; default: its first");
  app.add_option("--steps", options->workload.steps, "Steps of that training")
      ->check(CLI::Range(4, 1000000))
      ->capture_default_str();
  app.add_option("--knob", options->knobs, "A knob of the training, may be repeated")->type_name("NAME=VALUE");
  auto* members = app.add_option("--members", options->members, "Runs with one weight moved")
                      ->check(CLI::Range(2, 256))
                      ->capture_default_str();
  auto* again = app.add_flag("--again", options->again, "Measure anew what is known already");
  auto* lockstep = app.add_flag("--lockstep", options->lockstep,
                                "Instead: how far correct runs' errors lie apart in one step, for `compare --explain`")
                       ->excludes(members)
                       ->excludes(again);
  app.add_option("--against", options->against, "With --lockstep: another stack that is known to be good")
      ->type_name("STACK")
      ->needs(lockstep);
  app.add_option("--batches", options->batches, "With --lockstep: batches from each of three states")
      ->check(CLI::Range(kFewestPooledBatches, 100000))
      ->capture_default_str()
      ->needs(lockstep);
  app.add_flag("--json", options->json, "One JSON document (schema: envelope, lockstep_bounds)");
  return [options, &context] { return calibrate(*options, context); };
}

}  // namespace reprobench
