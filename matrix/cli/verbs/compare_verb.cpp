#include <algorithm>
#include <chrono>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/compared_calls.hpp"
#include "matrix/cli/compared_orders.hpp"
#include "matrix/cli/replay_host.hpp"
#include "matrix/cli/report_process.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/text/atlas_text.hpp"
#include "matrix/cli/text/compared_words.hpp"
#include "matrix/cli/text/comparison_text.hpp"
#include "matrix/cli/text/order_changes_text.hpp"
#include "matrix/cli/text/progress.hpp"
#include "matrix/cli/verbs/compare_only.hpp"
#include "matrix/cli/verbs/knob_options.hpp"
#include "matrix/cli/verbs/own_file_options.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/cli/verbs/word_option.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/contract/device/device_class.hpp"
#include "matrix/contract/device/host_facts.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/inquiry/pair_inquiry.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"
#include "matrix/provision/stack_store.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

struct CompareOptions {
  std::string measured;
  std::string expected;
  WorkloadChoice workload;
  OwnFilePaths own_files;
  std::vector<std::string> knobs;  // NAME=VALUE, of both sides
  std::vector<std::string> measured_knobs;
  std::vector<std::string> expected_knobs;
  std::vector<std::string> workers;
  ExplainSettings explain = [] {
    ExplainSettings settings;
    settings.later_steps = kUsualLaterSteps;
    return settings;
  }();
  bool orders = false;
  std::string calls_file;  // of `orders`
  bool trajectory = false;
  int members = 8;
  int seeds = 0;
  FailOn fail_on = FailOn::any;
  std::string only;  // component
  double margin_percent = 5;
  bool keep = false;
  bool only_changed = false;
  bool json = false;
};

bool is_tensor_file(const std::string& word) { return std::filesystem::path(word).extension() == ".safetensors"; }

ExitCode compare_files(const CompareOptions& options, const Terminal& terminal) {
  const auto measured = SafetensorsFile::open(options.measured);
  const auto expected = SafetensorsFile::open(options.expected);
  const SnapshotComparison comparison = compare_snapshots(measured, expected);
  if (options.json) {
    terminal.out_document(to_json(comparison));
  } else {
    terminal.out(to_text(comparison));
  }
  return exit_code_of(comparison.match);
}

KnobValues chosen_knobs(std::vector<std::string> options, const std::vector<std::string>& of_one_side) {
  options.insert(options.end(), of_one_side.begin(), of_one_side.end());
  return given_knobs(options);
}

// The work of one call: which sides, by which workers, and what is said about each pair.
class Comparer {
 public:
  Comparer(const CompareOptions& options, Context& context)
      : options_(options), terminal_(context.terminal), project_(context.store), specs_(project_.stacks()) {
    is_run_ = options.expected.empty();
    is_stacks_ = !is_run_ && specs_.count(options.measured) > 0 && specs_.count(options.expected) > 0;
    if (!is_run_ && !is_stacks_) require_no_stack(options.measured, options.expected);
    if (!is_stacks_) {
      terminal_.error(passed_over(project_.store(), options.measured));
      measured_ = run_cells_named(project_, specs_, options.measured);
    }
    if (!is_stacks_ && !is_run_) expected_ = run_cells_named(project_, specs_, options.expected);
  }

  ExitCode run() {
    for (const auto& [kind, _] : options_.workload.own_files) {
      if (!is_stacks_) throw UsageError(kind->option() + " trains anew, so it needs two stacks");
    }
    if (options_.orders) return compare_orders_of_stacks();
    if (options_.seeds > 0 && !is_stacks_) throw UsageError("--seeds trains anew, so it needs two stacks");
    ComparedParts parts = stored_parts();
    StoredPairs& found = parts.trainings;
    ReplayHost replay_host(project_, workers_for(found.pairs), options_.keep);
    Replays& replays = replay_host.replays();
    if (is_stacks_) found.pairs.push_back(fresh_pair(replays));
    const auto announce = [&](const std::string& line) { terminal_.log(line + "\n"); };
    const bool has_tensors = std::any_of(found.pairs.begin(), found.pairs.end(), [](const SidePair& pair) {
      return digests_tensors(pair.first.request.trace);
    });
    std::vector<CellComparison> comparisons;
    const auto started = std::chrono::steady_clock::now();
    for (SidePair& pair : found.pairs) {
      const auto elapsed = std::chrono::steady_clock::now() - started;
      terminal_.status(pair_progress_text(comparisons.size(), found.pairs.size(), elapsed) + pair.first.label);
      comparisons.push_back(inquire(pair, questions(pair, has_tensors), replays, announce));
      show(comparisons.back());
      pair = {};  // traces are large
    }
    terminal_.status("");
    if (parts.calls && !options_.json) {
      const std::string text = atlas_pairs(*parts.calls, terminal_, options_.only_changed);
      terminal_.out(parts.has_trainings && !text.empty() ? "operator calls\n" + text : text);
    }
    if (parts.has_trainings) finish(comparisons, found);
    return conclude(comparisons, parts);
  }

 private:
  // The word that is no stack is looked up first: where it is mistyped, the answer names the nearest name.
  void require_no_stack(const std::string& a, const std::string& b) const {
    if (specs_.contains(a) == specs_.contains(b)) return;
    const auto& [stack, other] = specs_.contains(a) ? std::tie(a, b) : std::tie(b, a);
    run_cells_named(project_, specs_, other);
    throw UsageError(fmt::format("stack `{}` can only be compared with another stack, and `{}` is none", stack, other));
  }

  ComparedParts stored_parts() const {
    if (is_stacks_) return {};
    return is_run_ ? parts_within_run(measured_) : parts_of_runs(measured_, expected_);
  }

  ExitCode compare_orders_of_stacks() {
    if (!is_stacks_) {
      throw UsageError("--orders makes calls anew, so it needs two stacks; of a run: reprobench atlas RUN --orders");
    }
    const OrderSide measured{options_.measured, options_.workload.measured_knobs};
    const OrderSide expected{options_.expected, options_.workload.expected_knobs};
    const std::map<std::string, WorkerCommand> workers = workers_for({});
    ReplayHost replay_host(project_, workers, options_.keep);
    terminal_.log("reading orders of summation on both stacks\n");
    const ComparedOrders compared =
        compare_orders(measured, expected, options_.calls_file, project_, workers, replay_host.replays());
    for (const std::string& problem : compared.left_aside) terminal_.error(problem + "\n");
    const auto changes = order_changes(compared.atlas, compared.measured, compared.expected);
    const ExitCode code = exit_code_of(word_of(changes));
    const std::string last_line = fmt::format("{} (exit {})\n", order_count_text(changes), static_cast<int>(code));
    if (options_.json) {
      terminal_.out_document(to_json(compared.atlas));
      terminal_.log(last_line);
      return code;
    }
    terminal_.out(order_changes_text(compared.atlas, compared.measured, compared.expected, options_.only_changed) +
                  last_line);
    return code;
  }

  std::map<std::string, WorkerCommand> workers_for(const std::vector<SidePair>& pairs) const {
    std::set<std::string> needed;
    if (is_stacks_) needed = {options_.measured, options_.expected};
    if (options_.explain.explain || options_.trajectory || options_.fail_on != FailOn::any) {
      for (const auto& [a, b] : pairs) needed.insert({a.request.stack, b.request.stack});
    }
    if (needed.empty()) return {};
    const auto given = given_workers(options_.workers);
    require_known_stacks(given, project_);
    return worker_commands(needed, project_, given);
  }

  SidePair fresh_pair(Replays& replays) const {
    const StackStore store = project_.stack_store();
    const Capability capability = store.describe(store.find(specs_.at(options_.expected)));
    return sides_of_stacks(options_.measured, options_.expected, options_.workload, capability, replays,
                           [&] { terminal_.log(fmt::format("running {} on both stacks\n", options_.workload.model)); });
  }

  // Where cells digest every tensor, only these are replayed: the others train the same workloads.
  PairQuestions questions(const SidePair& pair, bool has_tensors) const {
    PairQuestions asked{options_.explain, options_.trajectory, options_.members,
                        options_.seeds,   project_.store(),    {"cpu"}};
    asked.explain.facts = facts_;
    for (const auto& gpu : host_.gpus) asked.devices.insert(device_class(gpu.compute_capability));
    if (options_.fail_on != FailOn::any) {
      asked.explain.explain = true;
    } else if (has_tensors && !digests_tensors(pair.first.request.trace)) {
      asked.explain.explain = asked.trajectory = false;
    }
    return asked;
  }

  // A pair as soon as it is known; the document of all comes last.
  void show(const CellComparison& comparison) {
    for (const std::string& problem : comparison.unanswered) {
      terminal_.error(fmt::format("{}: not answered: {}\n", comparison.measured_name, problem));
    }
    if (options_.json || (options_.only_changed && comparison.word == Match::equal)) return;
    terminal_.out(pairs_text_.next(comparison, terminal_));
  }

  // The worse of trainings and operator calls, where both are in question.
  Match word_of_all(const std::vector<CellComparison>& comparisons, const ComparedParts& parts) const {
    const Match word = overall_word(comparisons, parts.trainings, options_.fail_on);
    return parts.calls ? overall(word, overall_word(*parts.calls, options_.fail_on)) : word;
  }

  ExitCode conclude(const std::vector<CellComparison>& comparisons, const ComparedParts& parts) const {
    const StoredPairs& found = parts.trainings;
    const ExitCode code = exit_code_of(word_of_all(comparisons, parts));
    std::vector<std::string> counts;
    if (parts.has_trainings) counts.push_back(count_text(comparisons, found));
    if (parts.calls) counts.push_back(atlas_count_text(*parts.calls));
    const std::string last_line = fmt::format("{} (exit {})\n", fmt::join(counts, "; "), static_cast<int>(code));
    if (!options_.json) {
      terminal_.out(last_line);
      return code;
    }
    // The document of one pair has no place for cells that are in none, or for operator calls.
    const bool is_one = comparisons.size() == 1 && !is_run_ && found.without_partner.empty() && !parts.calls;
    if (!parts.has_trainings) {
      terminal_.out_document(to_json(*parts.calls));
    } else {
      terminal_.out_document(is_one ? to_json(comparisons.front())
                                    : to_json(comparisons, found.without_partner, parts.calls));
    }
    if (found.without_partner.empty()) {
      terminal_.log(last_line);
    } else {
      terminal_.error(last_line);
    }
    return code;
  }

  void finish(const std::vector<CellComparison>& comparisons, const StoredPairs& found) const {
    if (options_.keep) terminal_.log(fmt::format("replays are in {}\n", (project_.store() / "replays").string()));
    if (!is_run_ || !measured_.cell.empty()) return;  // one cell's would take the place of the others in the report
    if (is_read_only(measured_.folder)) {
      terminal_.log(fmt::format("not kept for the report: {} can only be read\n", measured_.folder.string()));
      return;
    }
    write_file_atomically(measured_.folder / "comparisons.json",
                          to_json(comparisons, found.without_partner).dump(1) + "\n");
    const ReportOutcome report = write_reports(project_, measured_.folder);
    terminal_.log(report.problem.empty() ? report.paths : report.problem + "\n");
  }

  const CompareOptions& options_;
  const Terminal& terminal_;
  Project project_;
  std::shared_ptr<const CompatFacts> facts_ = std::make_shared<const CompatFacts>(project_.facts());
  std::map<std::string, StackSpec> specs_;
  bool is_run_ = false;
  bool is_stacks_ = false;
  RunCells measured_;
  RunCells expected_;
  PairsText pairs_text_;
  HostFacts host_ = detect_host();
};

// What `--only` has no answer for is refused, not passed over.
void require_no_other_question(const CLI::App& app) {
  for (const char* other : {"--explain", "--trajectory", "--members", "--seeds", "--batches", "--states", "--later",
                            "--knob-a", "--knob-b", "--worker", "--fail-on", "--keep", "--only-changed"}) {
    if (app.count(other) > 0) throw UsageError(fmt::format("--only excludes {}", other));
  }
}

ExitCode compare(CompareOptions options, Context& context) {
  if (is_tensor_file(options.measured) != is_tensor_file(options.expected)) {
    throw UsageError("a .safetensors file can only be compared with another");
  }
  if (options.orders && is_tensor_file(options.measured)) {
    throw UsageError("--orders makes calls anew, so it needs two stacks");
  }
  if (is_tensor_file(options.measured)) return compare_files(options, context.terminal);
  for (const auto& [kind, path] : options.own_files) options.workload.own_files.emplace_back(kind, kind->read(path));
  options.workload.measured_knobs = chosen_knobs(options.knobs, options.measured_knobs);
  options.workload.expected_knobs = chosen_knobs(options.knobs, options.expected_knobs);
  if (!options.only.empty()) {
    if (options.expected.empty()) throw UsageError("--only needs two stacks: of A with the component of B");
    return compare_only(
        {options.measured, options.expected, options.only, options.workload, options.margin_percent, options.json},
        context);
  }
  return Comparer(options, context).run();
}

}  // namespace

std::function<ExitCode()> declare_compare(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompareOptions>();
  app.footer(
      app.get_footer() +
      "\nExit codes of compare: 0 every pair is equal, 1 one differs by what --fail-on says, 3 one cannot be compared: "
      "a\ncell crashed, is missing or was not judged. With --orders: 0 every output adds in the same order on both, 1 "
      "one does\nnot, 3 an order is not known. With --only: 0 the component changes neither bits nor time, 1 it "
      "changes "
      "one of\nthem, 3 that is not known, or noise leaves open whether it explains how A and B differ.");
  app.add_option("measured", options->measured,
                 "Run id or directory, with :CELL for one cell; cell of the newest run by slug, id or beginning of "
                 "the id; stack; .safetensors file; default: the newest run. A run or cell alone: against its "
                 "reference cells; what is found of a run goes into its report")
      ->type_name("A");
  app.add_option("expected", options->expected, "What A is compared with, of the same sort")->type_name("B");
  app.add_flag("--explain", options->explain.explain,
               "Replay the first difference: operator, element, bits, and whether fp64 calls it rounding");
  auto* orders =
      app.add_flag("--orders", options->orders,
                   "Between two stacks: which calls add up in another order and which in the same, by library");
  app.add_option("--calls", options->calls_file,
                 "With --orders: calls of your own, a file as those in suites/operators; default: its sums.yaml")
      ->type_name("FILE")
      ->needs(orders);
  app.add_flag("--trajectory", options->trajectory,
               "Judge how far A and B drift apart by how far runs of B drift that have one weight moved by 1 ulp");
  app.add_option("--members", options->members, "With --trajectory: the number of such runs of B")
      ->check(CLI::Range(2, 256))
      ->capture_default_str();
  app.add_option("--seeds", options->seeds,
                 "Between two stacks: test the loss curves of this many seeds for equivalence")
      ->check(CLI::Range(2, 1000));
  app.add_option("--batches", options->explain.lockstep_batches,
                 "With --explain: on how many batches whole steps are compared with fp64; 0: none")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--states", options->explain.lockstep_states,
                 "With --explain: compare the step after each of these with fp64, too: 0,1,10,100")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--later", options->explain.later_steps,
                 "With --explain: how many steps after the first difference to judge as well, at most; 0: none")
      ->check(CLI::Range(0, 16))
      ->capture_default_str();
  app.add_option("--model", options->workload.model, "Between two stacks: the model to train")->capture_default_str();
  app.add_option("--preset", options->workload.preset, "The model's preset; default: its first");
  app.add_option("--steps", options->workload.steps, "Steps of that training")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--batch", options->workload.batch_size, "Samples a step; default: the preset's")
      ->check(CLI::Range(1, 1000000));
  add_own_file_options(app, options->own_files, OwnFilesOf::trainings);
  app.add_option("--knob", options->knobs, "A knob of both stacks, may be repeated")->type_name("NAME=VALUE");
  app.add_option("--knob-a", options->measured_knobs, "A knob of A alone")->type_name("NAME=VALUE");
  app.add_option("--knob-b", options->expected_knobs, "A knob of B alone")->type_name("NAME=VALUE");
  app.add_option("--worker", options->workers, "Run a stack's cells with this command instead of its installed worker")
      ->type_name("STACK=COMMAND");
  const std::map<std::string, FailOn> kinds{
      {"any", FailOn::any}, {"another_computation", FailOn::another_computation}, {"defect", FailOn::defect}};
  app.add_option(
         "--fail-on", options->fail_on,
         "Which difference of bits ends with 1: any; another_computation (its constants differ, or fp64 calls it "
         "a defect); defect. The latter two imply --explain")
      ->transform(one_of_words(kinds))
      ->default_str("any")
      ->type_name("any|another_computation|defect");
  app.add_flag("--keep", options->keep, "Keep the replays: states, operator calls, tensors");
  app.add_flag("--only-changed", options->only_changed, "Leave out pairs with equal bits");
  CLI::Option* only =
      app.add_option("--only", options->only,
                     "Between two stacks of wheels: what does B's version of this component change in A by itself, in "
                     "bits and step time, and does that explain how A and B differ? Makes a hybrid, as `stack swap` "
                     "does; goes with --model, --preset, --steps, --batch, --data, --weights, --knob, --margin and "
                     "--json alone")
          ->type_name("COMPONENT");
  app.add_option(
         "--margin", options->margin_percent,
         "With --only: step times that differ by less than this many percent are equal; 0: times are not compared")
      ->check(CLI::Range(0.0, 1000.0))
      ->needs(only)
      ->capture_default_str();
  app.add_flag("--json", options->json,
               "One JSON document (schema: comparison, comparisons, component_alone, atlas or snapshot_comparison)");
  for (const char* question :
       {"--explain", "--trajectory", "--seeds", "--fail-on", "--model", "--preset", "--steps", "--only"}) {
    orders->excludes(app.get_option(question));
  }
  return [options, &app, &context] {
    if (!options->only.empty()) require_no_other_question(app);
    return compare(*options, context);
  };
}

}  // namespace reprobench
