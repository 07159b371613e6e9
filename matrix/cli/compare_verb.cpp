#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/comparison_text.hpp"
#include "matrix/cli/replay_host.hpp"
#include "matrix/cli/report_process.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/verb.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/contract/device_class.hpp"
#include "matrix/contract/host_facts.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/inquiry/pair_inquiry.hpp"
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
  bool trajectory = false;
  int members = 8;
  int seeds = 0;
  bool keep = false;
  bool only_changed = false;
  bool json = false;
};

bool is_tensor_file(const std::string& word) { return std::filesystem::path(word).extension() == ".safetensors"; }

ExitCode exit_code_of(Match word) {
  if (word == Match::equal) return ExitCode::passed;
  return word == Match::differs ? ExitCode::failed : ExitCode::undecided;
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
  return exit_code_of(comparison.match);
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

void print(const std::vector<CellComparison>& comparisons, const CompareOptions& options, const Terminal& terminal) {
  if (options.json) {
    const bool is_one = comparisons.size() == 1 && !options.expected.empty();
    terminal.out((is_one ? to_json(comparisons.front()) : to_json(comparisons)).dump(1) + "\n");
    return;
  }
  for (const CellComparison& comparison : comparisons) {
    if (!options.only_changed || comparison.word != Match::equal) terminal.out(to_text(comparison, terminal));
  }
}

// The work of one call: which sides, by which workers, and what is said about each pair.
class Comparer {
 public:
  Comparer(const CompareOptions& options, Context& context)
      : options_(options), terminal_(context.terminal), project_(context.store), specs_(project_.stacks()) {
    is_run_ = options.expected.empty();
    is_stacks_ = !is_run_ && specs_.count(options.measured) > 0 && specs_.count(options.expected) > 0;
    if (!is_stacks_) require_run(options.measured);
    if (!is_stacks_ && !is_run_) require_run(options.expected);
    if (is_run_) run_folder_ = find_run(project_.store(), options.measured);
  }

  std::vector<CellComparison> run() {
    if (options_.seeds > 0 && !is_stacks_) throw UsageError("--seeds trains anew, so it needs two stacks");
    auto pairs = stored_pairs();
    ReplayHost replay_host(project_, workers_for(pairs));
    Replays& replays = replay_host.replays();
    if (is_stacks_) pairs.push_back(fresh_pair(replays));
    const PairQuestions asked = questions();
    const auto announce = [&](const std::string& line) { terminal_.log(line + "\n"); };
    std::vector<CellComparison> comparisons;
    for (SidePair& pair : pairs) {
      terminal_.status(fmt::format("[{}/{}] {}", comparisons.size() + 1, pairs.size(), pair.first.label));
      comparisons.push_back(inquire(pair, asked, replays, announce));
      for (const std::string& problem : comparisons.back().unanswered) {
        terminal_.error(fmt::format("{}: not answered: {}\n", pair.first.label, printable(problem)));
      }
      pair = {};  // traces are large
    }
    terminal_.status("");
    finish(comparisons, replays);
    return comparisons;
  }

 private:
  // A word that is no run may be a stack's name mistyped.
  void require_run(const std::string& word) const {
    const std::string run = word.substr(0, word.rfind(':'));
    if (std::filesystem::exists(run) || std::filesystem::exists(project_.store() / "runs" / run)) return;
    project_.stack_files().require_readable(word);
    std::vector<std::string> names;
    for (const auto& [name, spec] : specs_) names.push_back(name);
    if (specs_.count(word) > 0)
      throw UsageError(fmt::format("stack `{}` can only be compared with another stack", word));
    std::string hint = did_you_mean(word, names);
    for (const std::string& name : names) {
      if (hint.empty() && name.rfind(word, 0) == 0) hint = fmt::format("did you mean `{}`?", name);
    }
    if (hint.empty()) hint = "`reprobench stack list` and `reprobench db list` show what there is";
    throw UsageError(fmt::format("`{}` is neither a run nor a stack; {}", word, hint));
  }

  std::vector<SidePair> stored_pairs() const {
    if (is_stacks_) return {};
    if (is_run_) return sides_within_run(run_folder_);
    return sides_of_runs(run_cells(options_.measured), run_cells(options_.expected));
  }

  // "RUN" or "RUN:CELL".
  RunCells run_cells(const std::string& word) const {
    const auto colon = word.rfind(':');
    const std::string cell = colon == std::string::npos ? "" : word.substr(colon + 1);
    return {find_run(project_.store(), word.substr(0, colon)), cell};
  }

  std::map<std::string, WorkerCommand> workers_for(const std::vector<SidePair>& pairs) const {
    std::set<std::string> needed;
    if (is_stacks_) needed = {options_.measured, options_.expected};
    if (options_.explain.explain || options_.trajectory) {
      for (const auto& [a, b] : pairs) needed.insert({a.request.stack, b.request.stack});
    }
    if (needed.empty()) return {};
    return worker_commands(needed, project_, given_workers(options_.workers));
  }

  SidePair fresh_pair(Replays& replays) const {
    const StackStore store = project_.stack_store();
    const Capability capability = store.describe(store.find(specs_.at(options_.expected)));
    terminal_.log(fmt::format("running {} on both stacks\n", options_.workload.model));
    return sides_of_stacks(options_.measured, options_.expected, options_.workload, capability, replays);
  }

  PairQuestions questions() const {
    PairQuestions asked{options_.explain, options_.trajectory, options_.members,
                        options_.seeds,   project_.store(),    {"cpu"}};
    for (const auto& gpu : detect_host().gpus) asked.devices.insert(device_class(gpu.compute_capability));
    return asked;
  }

  void finish(const std::vector<CellComparison>& comparisons, Replays& replays) const {
    if (options_.keep) {
      terminal_.log(fmt::format("replays are in {}\n", (project_.store() / "replays").string()));
    } else {
      replays.remove_files();
    }
    if (!is_run_) return;
    write_file_atomically(run_folder_ / "comparisons.json", to_json(comparisons).dump(1) + "\n");
    const ReportOutcome report = write_reports(project_, run_folder_);
    terminal_.log(report.problem.empty() ? report.paths : report.problem + "\n");
  }

  const CompareOptions& options_;
  const Terminal& terminal_;
  Project project_;
  std::map<std::string, StackSpec> specs_;
  bool is_run_ = false;
  bool is_stacks_ = false;
  std::filesystem::path run_folder_;
};

ExitCode compare(CompareOptions options, Context& context) {
  if (is_tensor_file(options.measured) != is_tensor_file(options.expected)) {
    throw UsageError("a .safetensors file can only be compared with another");
  }
  if (is_tensor_file(options.measured)) return compare_files(options, context.terminal);
  options.workload.measured_knobs = chosen_knobs(options.knobs, options.measured_knobs);
  options.workload.expected_knobs = chosen_knobs(options.knobs, options.expected_knobs);
  const auto comparisons = Comparer(options, context).run();
  print(comparisons, options, context.terminal);
  return exit_code_of(overall_word(comparisons));
}

}  // namespace

std::function<ExitCode()> declare_compare(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompareOptions>();
  app.add_option(
         "measured", options->measured,
         "Run id or directory, with :CELL for one cell; stack; .safetensors file. A run alone: its cells against "
         "their reference cells, and what is found goes into its report")
      ->required()
      ->type_name("A");
  app.add_option("expected", options->expected, "What A is compared with, of the same sort")->type_name("B");
  app.add_flag("--explain", options->explain.explain,
               "Replay the first difference: operator, element, bits, and whether fp64 calls it rounding");
  app.add_flag("--trajectory", options->trajectory,
               "Judge how far apart the runs drift by an ensemble of B with one weight moved by 1 ulp");
  app.add_option("--members", options->members, "Of that ensemble")->check(CLI::Range(2, 256))->capture_default_str();
  app.add_option("--seeds", options->seeds, "Of two stacks: test the loss curves of this many seeds for equivalence")
      ->check(CLI::Range(2, 1000));
  app.add_option("--batches", options->explain.lockstep_batches, "Batches of the fp64 judgement; 0: none")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--states", options->explain.lockstep_states,
                 "Judge the step after each of these steps, too: 0,1,10,100")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
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
  app.add_flag("--json", options->json, "One JSON document (schema: comparison, comparisons or snapshot_comparison)");
  return [options, &context] { return compare(*options, context); };
}

}  // namespace reprobench
