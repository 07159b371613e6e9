#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/compared_sides.hpp"
#include "matrix/cli/comparison.hpp"
#include "matrix/cli/verb.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/provision/stack_store.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/snapshot_comparison.hpp"

namespace reprobench {
namespace {

struct CompareOptions {
  std::string measured;
  std::string expected;
  WorkloadChoice workload;
  std::vector<std::string> knobs;  // NAME=VALUE, of both sides
  std::vector<std::string> measured_knobs;
  std::vector<std::string> expected_knobs;
  std::vector<std::string> workers;
  ExplainSettings explain;
  bool keep = false;
  bool only_changed = false;
  bool json = false;
};

bool is_tensor_file(const std::string& word) { return std::filesystem::path(word).extension() == ".safetensors"; }

ExitCode exit_code_of(const std::string& word) {
  if (word == "equal") return ExitCode::passed;
  return word == "differs" ? ExitCode::failed : ExitCode::undecided;
}

ExitCode compare_files(const CompareOptions& options, const Terminal& terminal) {
  const auto measured = SafetensorsFile::open(options.measured);
  const auto expected = SafetensorsFile::open(options.expected);
  const SnapshotComparison comparison = compare_snapshots(measured, expected);
  if (options.json) {
    terminal.out(to_json(comparison).dump(1) + "\n");
  } else {
    terminal.out(to_text(comparison));
  }
  if (comparison.match == TensorMatch::equal) return ExitCode::passed;
  return comparison.match == TensorMatch::differs ? ExitCode::failed : ExitCode::undecided;
}

KnobValues chosen_knobs(std::vector<std::string> options, const std::vector<std::string>& of_one_side) {
  options.insert(options.end(), of_one_side.begin(), of_one_side.end());
  KnobValues values;
  std::vector<std::string> names;
  for (const Knob& knob : knobs()) names.emplace_back(knob.name);
  for (const std::string& option : options) {
    const auto equals = option.find('=');
    if (equals == std::string::npos) throw UsageError("--knob takes NAME=VALUE, got " + option);
    const std::string name = option.substr(0, equals);
    const std::string value = option.substr(equals + 1);
    const Knob* knob = find_knob(name);
    if (knob == nullptr) throw UsageError(fmt::format("there is no knob `{}`; {}", name, did_you_mean(name, names)));
    if (!accepts(*knob, value)) throw UsageError(fmt::format("knob `{}` does not take `{}`", name, value));
    values[name] = value;
  }
  return values;
}

// The word of the whole: what differs wins over what cannot be compared, and that over what is equal.
std::string overall_word(const std::vector<CellComparison>& comparisons) {
  std::string overall = "equal";
  for (const CellComparison& comparison : comparisons) {
    if (comparison.word == "differs") return "differs";
    if (comparison.word != "equal") overall = comparison.word;
  }
  return overall;
}

void print(const std::vector<CellComparison>& comparisons, const CompareOptions& options, const Terminal& terminal) {
  if (options.json && comparisons.size() == 1) {
    terminal.out(to_json(comparisons.front()).dump(1) + "\n");
    return;
  }
  if (options.json) {
    nlohmann::json list = document("comparisons");
    list["comparisons"] = nlohmann::json::array();
    for (const CellComparison& comparison : comparisons) list["comparisons"].push_back(to_json(comparison));
    terminal.out(list.dump(1) + "\n");
    return;
  }
  for (const CellComparison& comparison : comparisons) {
    if (!options.only_changed || comparison.word != "equal") terminal.out(to_text(comparison, terminal));
  }
}

ExitCode compare(CompareOptions options, Context& context) {
  const Terminal& terminal = context.terminal;
  if (is_tensor_file(options.measured) != is_tensor_file(options.expected)) {
    throw UsageError("a .safetensors file can only be compared with another");
  }
  if (is_tensor_file(options.measured)) return compare_files(options, terminal);

  const Project project(context.store);
  const auto specs = project.stacks();
  const bool stacks = specs.count(options.measured) > 0 && specs.count(options.expected) > 0;
  options.workload.measured_knobs = chosen_knobs(options.knobs, options.measured_knobs);
  options.workload.expected_knobs = chosen_knobs(options.knobs, options.expected_knobs);
  std::vector<SidePair> pairs;
  std::set<std::string> needed;
  if (stacks) {
    needed = {options.measured, options.expected};
  } else {
    pairs = sides_of_runs(std::filesystem::absolute(context.store), options.measured, options.expected);
    for (const auto& [a, b] : pairs) needed.insert({a.request.stack, b.request.stack});
  }
  const bool runs_workers = stacks || options.explain.explain;
  ReplayRunner replays(project,
                       runs_workers ? worker_commands(needed, project, given_workers(options.workers))
                                    : std::map<std::string, WorkerCommand>{},
                       terminal);
  if (stacks) {
    const StackStore store = project.stack_store();
    const Capability capability = store.describe(store.find(specs.at(options.expected)));
    terminal.log(fmt::format("running {} on both stacks\n", options.workload.model));
    pairs.push_back(sides_of_stacks(options.measured, options.expected, options.workload, capability, replays));
  }
  std::vector<CellComparison> comparisons;
  bool explained = false;
  for (const auto& [measured, expected] : pairs) {
    ExplainSettings settings = options.explain;
    settings.explain = settings.explain && !explained;  // of many pairs the first difference
    comparisons.push_back(compare_cells(measured, expected, settings, replays));
    explained = explained || comparisons.back().explanation.has_value();
  }
  print(comparisons, options, terminal);
  if (options.keep) {
    terminal.log(fmt::format("replays are in {}\n", (project.store() / "replays").string()));
  } else {
    replays.remove_files();
  }
  return exit_code_of(overall_word(comparisons));
}

}  // namespace

std::function<ExitCode()> declare_compare(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompareOptions>();
  app.add_option("measured", options->measured,
                 "Run id or directory, with :CELL for one cell; stack; .safetensors file")
      ->required()
      ->type_name("A");
  app.add_option("expected", options->expected, "What A is compared with, of the same sort")
      ->required()
      ->type_name("B");
  app.add_flag("--explain", options->explain.explain,
               "Replay the first difference: operator, element, bits, and whether fp64 calls it rounding");
  app.add_option("--batches", options->explain.lockstep_batches, "Batches of the fp64 judgement; 0: none")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--model", options->workload.model, "Of two stacks: the workload to run")->capture_default_str();
  app.add_option("--preset", options->workload.preset, "Its preset; default: its first");
  app.add_option("--steps", options->workload.steps, "Its steps")->check(CLI::Range(1, 1000000))->capture_default_str();
  app.add_option("--knob", options->knobs, "A knob of both stacks, may be repeated")->type_name("NAME=VALUE");
  app.add_option("--knob-a", options->measured_knobs, "A knob of A alone")->type_name("NAME=VALUE");
  app.add_option("--knob-b", options->expected_knobs, "A knob of B alone")->type_name("NAME=VALUE");
  app.add_option("--worker", options->workers, "Run a stack's cells with this command instead of its installed worker")
      ->type_name("STACK=COMMAND");
  app.add_flag("--keep", options->keep, "Keep the replays: states, operator calls, tensors");
  app.add_flag("--only-changed", options->only_changed, "Leave out pairs with equal bits");
  app.add_flag("--json", options->json, "One JSON document (schema: comparison or snapshot_comparison)");
  return [options, &context] { return compare(*options, context); };
}

}  // namespace reprobench
