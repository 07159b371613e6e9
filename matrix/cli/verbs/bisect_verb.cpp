#include <algorithm>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/cli/bisect_axis.hpp"
#include "matrix/cli/bisect_questions.hpp"
#include "matrix/cli/check_question.hpp"
#include "matrix/cli/component_bisect.hpp"
#include "matrix/cli/hybrid_mixes.hpp"
#include "matrix/cli/image_mixes.hpp"
#include "matrix/cli/image_stacks.hpp"
#include "matrix/cli/podman_image.hpp"
#include "matrix/cli/runnable_stack.hpp"
#include "matrix/cli/text/bisect_text.hpp"
#include "matrix/cli/text/component_bisect_text.hpp"
#include "matrix/cli/verbs/knob_options.hpp"
#include "matrix/cli/verbs/selection.hpp"
#include "matrix/cli/verbs/store_option.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/contract/declared_call.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/inquiry/compared_sides.hpp"
#include "matrix/spec/files/call_list.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

struct BisectOptions {
  std::string given_good;  // a stack, or an image
  std::string given_bad;
  std::string good;  // of images the names of their stacks
  std::string bad;
  bool images = false;
  std::vector<std::string> axis;
  std::string call;
  std::string calls_file;
  std::string workload;  // MODEL/PRESET
  std::int64_t steps = 20;
  std::int64_t batch = 0;
  double slower_percent = 0;       // 0: bits are asked
  std::vector<std::string> check;  // CELL METRIC; empty: no check is asked
  std::string run;                 // of that cell
  std::vector<std::string> knobs;  // NAME=VALUE
  std::vector<std::string> workers;
  bool components = false;
  bool install = false;
  bool again = false;
  bool json = false;
};

constexpr std::int64_t kSamplesOfBits = 1;
constexpr std::int64_t kSamplesOfSpeed = 30;

std::string whole_call(const std::string& text) {
  try {
    return parse_call(canonical_call(text)).text;
  } catch (const ContractError& error) {
    throw UsageError(fmt::format("--call: {}", error.what()));
  }
}

// A whole call, or an operator of which the list has calls.
CallList chosen_calls(const BisectOptions& options, const Project& project) {
  const bool is_whole = options.call.find('(') != std::string::npos;
  const std::string wanted = is_whole ? whole_call(options.call) : options.call;
  if (is_whole && options.calls_file.empty()) return {"", kUsualCallMemoryBytes, {wanted}};
  const std::string file = options.calls_file.empty()
                               ? (project.root() / "suites" / "operators" / "published.yaml").string()
                               : options.calls_file;
  CallList list = load_call_list(file);
  std::vector<std::string> names;
  std::vector<std::string> chosen;
  for (const std::string& text : list.calls) {
    const DeclaredCall call = parse_call(text);
    if (std::ranges::find(names, call.name) == names.end()) names.push_back(call.name);
    if (call.name == wanted || call.text == wanted) chosen.push_back(text);
  }
  if (chosen.empty()) throw UsageError(unknown_name("call of " + file, wanted, names));
  list.calls = std::move(chosen);
  return list;
}

// Times of equal work are compared with each other, so all that work depends on is in it, and this machine.
std::string question_text(const CellRequest& request, const std::optional<CheckedCell>& checked) {
  const HostFacts host = detect_host();
  nlohmann::json question = {{"workload", to_json(request.workload)},
                             {"knobs", request.knobs},
                             {"device", request.device},
                             {"host", host.host_name},
                             {"cpu", host.cpu_model},
                             {"cpu_revision", host.cpu_revision},
                             {"cpu_isa", host.cpu_isa},
                             {"cpu_limits", host.cpu_limits}};
  if (checked) question["check"] = question_of(*checked);
  return question.dump();
}

class Bisector {
 public:
  Bisector(const BisectOptions& options, std::optional<CheckedCell> checked, Context& context)
      : options_(options),
        terminal_(context.terminal),
        project_(context.store),
        checked_(std::move(checked)),
        axis_(bisect_axis(project_.stack_files(), options.good, options.bad, options.axis)),
        stacks_(project_, terminal_, workers(), options.install),
        request_(request()),
        journal_(project_.store(), question_text(request_, checked_), options.again) {}

  ExitCode run() {
    if (is_of_components()) return run_over_components();
    terminal_.log(fmt::format("axis: {}\n", fmt::join(axis_, ", ")));
    BisectDocument document;
    document.axis = axis_;
    document.asked = checked_ ? "check" : is_of_speed() ? "speed" : "bits";
    const BisectScene scene{axis_, request_, stacks_, journal_,
                            [this](const std::string& line) { terminal_.log("  " + line + "\n"); }};
    BitsQuestion bits(scene);
    if (checked_) {
      ask_for_check(scene, document);
    } else if (is_of_speed()) {
      ask_for_speed(scene, bits, document);
    } else {
      for (const std::string& subject : subjects()) document.answers.push_back(ask_for_bits(bits, subject));
      document.stacks_run = bits.stacks_run();
    }
    if (options_.json) {
      terminal_.out_document(written(document));
    } else {
      terminal_.out(bisect_text(document));
    }
    return exit_code(document);
  }

 private:
  bool is_of_speed() const { return options_.slower_percent > 0; }

  // Between neighbours there is nothing to search but their components.
  bool is_of_components() const {
    if (options_.components || options_.images) return true;
    return options_.axis.empty() && axis_.size() == 2 && options_.workers.empty() &&
           have_hybrids(project_, options_.good, options_.bad);
  }

  ExitCode run_over_components() {
    axis_ = {options_.good, options_.bad};
    const BisectScene scene{axis_,
                            request_,
                            stacks_,
                            journal_,
                            [this](const std::string& line) { terminal_.log("  " + line + "\n"); },
                            /*is_of_components=*/true};
    ComponentBisectDocument document = checked_ ? components_of_check(scene) : components_of_work(scene);
    document.good = options_.given_good;
    document.bad = options_.given_bad;
    if (options_.json) {
      terminal_.out_document(written(document));
    } else {
      terminal_.out(component_bisect_text(document));
    }
    return exit_code(document);
  }

  ComponentBisectDocument components_of_work(const BisectScene& scene) {
    BitsQuestion bits(scene);
    const auto mixes = component_mixes([&](const std::string& stack) { return bits.fingerprint(stack); });
    ComponentBisect bisect(scene, *mixes, [this](const std::string& line) { terminal_.log(line); });
    const auto slower_rel = is_of_speed() ? std::optional(options_.slower_percent / 100) : std::nullopt;
    return bisect.answered(bits, subjects(), slower_rel, [this](const std::string& subject, const StackChange& change) {
      return command_for(subject, change);
    });
  }

  ComponentBisectDocument components_of_check(const BisectScene& scene) {
    CheckQuestion check(project_, terminal_, scene, *checked_);
    const auto mixes = component_mixes([&](const std::string& stack) {
      check.answer_of_stack(stack, /*is_confirmation=*/false);
      return check.fingerprint(stack);
    });
    ComponentBisect bisect(scene, *mixes, [this](const std::string& line) { terminal_.log(line); });
    return bisect.answered(check, checked_->asked, [this](const std::string& subject, const StackChange& change) {
      return command_for(subject, change);
    });
  }

  // `fingerprint`: of what an image's worker had loaded.
  template <class FingerprintOf>
  std::unique_ptr<ComponentMixes> component_mixes(const FingerprintOf& fingerprint) {
    if (!options_.images) return std::make_unique<HybridMixes>(project_, stacks_, options_.good, options_.bad);
    const std::map<std::string, StackSpec> stacks = project_.stacks();
    const auto end = [&](const std::string& name) { return ImageEnd{stacks.at(name), fingerprint(name)}; };
    return std::make_unique<ImageMixes>(end(options_.good), end(options_.bad));
  }

  // As of an axis: one call at least has an answer, and none is unclear. A hidden variable is no answer.
  static ExitCode exit_code(const ComponentBisectDocument& document) {
    const auto has = [&](ComponentWord word) {
      return std::ranges::any_of(document.answers, [&](const ComponentAnswer& answer) { return answer.word == word; });
    };
    const bool has_found = has(ComponentWord::found) || has(ComponentWord::together);
    return has_found && !has(ComponentWord::unclear) && !has(ComponentWord::hidden) ? ExitCode::passed
                                                                                    : ExitCode::undecided;
  }

  std::map<std::string, WorkerCommand> workers() const {
    auto given = given_workers(options_.workers);
    require_known_stacks(given, project_);
    return given;
  }

  CellRequest request() {
    if (checked_) return checked_->cells.front().cell.request;
    const KnobValues knobs = given_knobs(options_.knobs);
    if (!options_.workload.empty()) return training(knobs);
    CellRequest request;
    request.workload.probe = kOperatorsProbe;
    request.workload.preset = "base";
    request.workload.samples = is_of_speed() ? kSamplesOfSpeed : kSamplesOfBits;
    give_calls(chosen_calls(options_, project_), request.workload);
    if (is_of_speed() && request.workload.calls.size() > 1) {
      throw UsageError(fmt::format("--slower takes one call, `{}` has {}; write it as a whole: --call '{}'",
                                   options_.call, request.workload.calls.size(), request.workload.calls.front()));
    }
    request.device = "cpu";
    request.knobs = with_defaults(knobs);
    return request;
  }

  // The good end's worker says which presets there are.
  CellRequest training(const KnobValues& knobs) {
    const std::size_t slash = options_.workload.find('/');
    WorkloadChoice choice;
    choice.model = options_.workload.substr(0, slash);
    if (slash != std::string::npos) choice.preset = options_.workload.substr(slash + 1);
    choice.steps = options_.steps;
    choice.batch_size = options_.batch;
    const BisectedStack& good = stacks_.at(options_.good);
    if (!good.why_not.empty()) throw UsageError(fmt::format("{}: {}", options_.good, good.why_not));
    const StackStore store = project_.stack_store();
    const Capability capability = store.describe(store.find(project_.stacks().at(options_.good)));
    return training_request("", choice, knobs, capability);
  }

  std::vector<std::string> subjects() const {
    if (request_.workload.is_probe()) return request_.workload.calls;
    return {fmt::format("{}/{}, {} steps of {}", request_.workload.model, request_.workload.preset,
                        request_.workload.steps, request_.workload.batch_size)};
  }

  BisectSearch searched(const std::string& subject, ConfirmEnds confirm, const EvaluatePoint& evaluate) const {
    terminal_.log(subject + "\n");
    std::size_t number = 0;
    return bisect(axis_.size(), confirm, [&](std::size_t point, bool is_confirmation) {
      PointEvaluation evaluation{point, evaluate(point, is_confirmation), is_confirmation};
      terminal_.log(evaluation_line(++number, axis_[point], evaluation));
      return evaluation.answer;
    });
  }

  template <class Describe>
  BisectAnswer completed(BisectAnswer answer, const Describe& describe) const {
    if (answer.culprit) describe(*answer.culprit);
    for (StackChange& other : answer.others) describe(other);
    return answer;
  }

  BisectAnswer ask_for_bits(BitsQuestion& bits, const std::string& subject) const {
    const BisectSearch search =
        searched(subject, ConfirmEnds::no, [&](std::size_t point, bool) { return bits.answer(subject, point); });
    return completed(answer_of_search(subject, search, axis_), [&](StackChange& change) {
      bits.describe(subject, change);
      change.command = command_for(subject, change);
    });
  }

  void ask_for_speed(const BisectScene& scene, BitsQuestion& bits, BisectDocument& document) const {
    // Each point at most once, and both ends anew: whatever the search takes, the confidence holds.
    SequentialPlan plan = sequential_plan(options_.slower_percent / 100, static_cast<int>(axis_.size()) + 2);
    document.margin = plan.margin;
    document.confidence = plan.confidence;
    SpeedQuestion speed(scene, plan);
    const std::string subject = subjects().front();
    const BisectSearch search = searched(subject, ConfirmEnds::yes, [&](std::size_t point, bool is_confirmation) {
      return speed.answer(point, is_confirmation);
    });
    document.answers.push_back(completed(answer_of_search(subject, search, axis_), [&](StackChange& change) {
      change.judgement = fmt::format("{}; before {}", why_of(search, change.after), why_of(search, change.before));
      change.components = bits.components_between(change.before, change.after);
      change.command = command_for(subject, change);
    }));
    document.stacks_run = speed.stacks_run();
  }

  void ask_for_check(const BisectScene& scene, BisectDocument& document) const {
    CheckQuestion check(project_, terminal_, scene, *checked_);
    const BisectSearch search = searched(
        subject_of(checked_->asked), ConfirmEnds::yes,
        [&](std::size_t point, bool is_confirmation) { return check.answer_of_stack(axis_[point], is_confirmation); });
    document.check = checked_->asked;
    document.answers.push_back(
        completed(answer_of_search(subject_of(checked_->asked), search, axis_), [&](StackChange& change) {
          check.describe(change);
          change.command = command_for("", change);
        }));
    document.stacks_run = check.stacks_run();
  }

  std::string why_of(const BisectSearch& search, const std::string& stack) const {
    const auto point = std::ranges::find(axis_, stack) - axis_.begin();
    return search.answer_at(static_cast<std::size_t>(point))->why;
  }

  std::string command_for(const std::string& subject, const StackChange& change) const {
    std::string work;
    if (checked_) {
      work = check_words();
    } else if (request_.workload.is_probe()) {
      work = fmt::format(" --call {}", shell_word(subject));
      if (!options_.calls_file.empty()) work += fmt::format(" --calls {}", shell_word(options_.calls_file));
    } else {
      const WorkloadRequest& workload = request_.workload;
      work = is_of_speed() || options_.images ? fmt::format(" --workload {}/{}", workload.model, workload.preset)
                                              : fmt::format(" --model {} --preset {}", workload.model, workload.preset);
      work += fmt::format(" --steps {} --batch {}", workload.steps, workload.batch_size);
    }
    if (is_of_speed()) work += fmt::format(" --slower {}", options_.slower_percent);
    for (const std::string& knob : options_.knobs) work += " --knob " + shell_word(knob);
    for (const std::string& worker : options_.workers) {
      if (is_worker_of(worker, change.before) || is_worker_of(worker, change.after) || is_of_reference(worker)) {
        work += " --worker " + shell_word(worker);
      }
    }
    if (options_.images) {
      return in_store(fmt::format("reprobench bisect --good {} --bad {}{}", shell_word(options_.given_good),
                                  shell_word(options_.given_bad), work));
    }
    if (!checked_ && !request_.workload.is_probe() && !is_of_speed()) {
      return fmt::format("reprobench compare {} {}{} --explain", change.after, change.before, work);
    }
    return in_store(
        fmt::format("reprobench bisect --good {0} --bad {1} --axis {0},{1}{2}", change.before, change.after, work));
  }

  std::string check_words() const {
    const std::string run = options_.run.empty() ? checked_->asked.run : options_.run;
    return fmt::format(" --check {} {} --run {}", checked_->asked.cell_id, shell_word(name_of(checked_->asked)),
                       shell_word(run));
  }

  // A run is found in its store alone.
  std::string in_store(const std::string& command) const {
    return checked_ ? reprobench::in_store(command, project_.store().string()) : command;
  }

  bool is_of_reference(const std::string& worker) const {
    const auto fixed = checked_ ? fixed_stacks(*checked_) : std::vector<std::string>{};
    return std::ranges::any_of(fixed, [&](const std::string& stack) { return is_worker_of(worker, stack); });
  }

  static bool is_worker_of(const std::string& option, const std::string& stack) {
    return option.starts_with(stack + "=");
  }

  // Ends that are equal are an answer about that call; with no change found in any call the question was wrong.
  static ExitCode exit_code(const BisectDocument& document) {
    const auto has = [&](BisectWord word) {
      return std::ranges::any_of(document.answers, [&](const BisectAnswer& answer) { return answer.word == word; });
    };
    const bool has_found = has(BisectWord::found) || has(BisectWord::range);
    return has_found && !has(BisectWord::unclear) ? ExitCode::passed : ExitCode::undecided;
  }

  const BisectOptions& options_;
  const Terminal& terminal_;
  Project project_;
  std::optional<CheckedCell> checked_;
  std::vector<std::string> axis_;
  BisectedStacks stacks_;
  CellRequest request_;
  BisectJournal journal_;
};

// Stacks have no slash in their names. A file or folder that lies here is an image, unless a stack is called so.
bool is_image(const std::string& name, const Project& project) {
  if (name.find('/') != std::string::npos || is_podman_image(name)) return true;
  const StackFiles files = project.stack_files();
  return !files.stacks.contains(name) && !files.broken.contains(name) && std::filesystem::exists(name);
}

// Images are the stacks `good` and `bad` of the store, as those of `qualify` are `candidate` and `reference`, with a
// worker each.
void make_stacks(ImageStacks& images, const Project& project, const Terminal& terminal, BisectOptions& options) {
  std::vector<ImageStack> stacks;
  for (const NamedImage& named :
       {NamedImage{"good", options.given_good, ""}, NamedImage{"bad", options.given_bad, ""}}) {
    const InspectedImage image = images.inspect(named, {});
    terminal.log(fmt::format("{} {}: {}\n", named.role, image.digest, image.inspection.summary));
    if (image.inspection.word == InspectionWord::refused) {
      throw UsageError(fmt::format("{} is not what it says, and nothing of it was run", named.name));
    }
    stacks.push_back(images.make_stack(image));
  }
  for (const ImageStack& stack : stacks) {
    if (made_runnable(stack.spec, project, terminal)) continue;
    throw UsageError(stack.spec.name + " does not load what it declares, and nothing was run");
  }
  options.good = "good";
  options.bad = "bad";
  options.images = true;
}

void require_one_question(const BisectOptions& options) {
  const int asked =
      (options.call.empty() ? 0 : 1) + (options.workload.empty() ? 0 : 1) + (options.check.empty() ? 0 : 1);
  if (asked != 1) throw UsageError("say one of --call, --workload and --check");
  if (options.components && !options.axis.empty()) throw UsageError("--components has no axis");
  if (options.components && !options.workers.empty()) {
    throw UsageError("--components exchanges files of installed stacks; a --worker brings none");
  }
  if (!options.calls_file.empty() && options.call.empty()) throw UsageError("--calls is the list of --call");
  if (!options.run.empty() && options.check.empty()) throw UsageError("--run is the run of --check");
  if (options.check.empty()) return;
  if (options.slower_percent > 0) throw UsageError("--slower has no --check: the check has a bound of its own");
  if (!options.knobs.empty()) throw UsageError("--knob has no --check: the cell has knobs of its own");
}

ExitCode run_bisect(BisectOptions& options, Context& context) {
  require_one_question(options);
  options.good = options.given_good;
  options.bad = options.given_bad;
  const Project project(context.store);
  const bool is_of_images = is_image(options.good, project);
  if (is_of_images != is_image(options.bad, project)) {
    throw UsageError(fmt::format("{} and {}: an image is held against another image", options.good, options.bad));
  }
  std::optional<CheckedCell> checked;
  if (!options.check.empty()) {
    context.terminal.error(passed_over(context.store, options.run));
    checked = stored_check(context.store, options.run, options.check.at(0), options.check.at(1));
    if (checked->is_of_images != is_of_images) {
      throw UsageError(fmt::format("the run {} is {}of images, and the ends are{}", checked->asked.run,
                                   is_of_images ? "not " : "", is_of_images ? "" : " not"));
    }
    if (is_of_images) hold_against(*checked, "good");
  }
  if (!is_of_images) return Bisector(options, std::move(checked), context).run();
  if (!options.axis.empty() || !options.workers.empty()) throw UsageError("images have no --axis and no --worker");
  // What was typed wrongly is said before gigabytes are read.
  given_knobs(options.knobs);
  if (!options.call.empty()) chosen_calls(options, project);
  ImageStacks images(project);  // nobody else changes them meanwhile
  make_stacks(images, project, context.terminal, options);
  return Bisector(options, std::move(checked), context).run();
}

}  // namespace

std::function<ExitCode()> declare_bisect(CLI::App& app, Context& context) {
  auto options = std::make_shared<BisectOptions>();
  app.footer(
      app.get_footer() +
      "\nOf bisect: 0 the change was found, between two neighbours or in a range whose middle is untestable; where\n"
      "several calls are asked about, in one of them at least, and no call is unclear. 3 an end is untestable or is "
      "not\n"
      "what it was said to be, or noise leaves an end open. 2 nothing was run. What was seen is kept in the store\n"
      "(bisects/): the same command goes on where it was stopped.");
  app.add_option("--good", options->given_good, "The stack that does not show it, or the image")
      ->required()
      ->type_name("STACK");
  app.add_option("--bad", options->given_bad, "The stack that shows it, or the image")->required()->type_name("STACK");
  app.add_option("--axis", options->axis,
                 "The stacks to search, from good to bad; default: all whose torch lies between, by version")
      ->delimiter(',')
      ->type_name("STACK,...");
  app.add_flag("--components", options->components,
               "Which component makes the difference? Of two stacks of wheels, by hybrids of both; so it is also asked "
               "where no stack lies between them and no --axis is given");
  app.add_option("--call", options->call,
                 "Where do its bits change? A call as operators.yaml has it, or an operator: all its calls of the list")
      ->type_name("CALL");
  app.add_option("--calls", options->calls_file, "That list; default: suites/operators/published.yaml")
      ->type_name("FILE");
  app.add_option("--workload", options->workload, "Where do the bits of this training change?")
      ->type_name("MODEL/PRESET");
  app.add_option("--steps", options->steps, "Its steps")->check(CLI::Range(1, 1000000))->capture_default_str();
  app.add_option("--batch", options->batch, "Its samples a step; default: the preset's")->check(CLI::Range(1, 1000000));
  app.add_option("--slower", options->slower_percent,
                 "Instead of bits: where does it become slower than the good end by more than so many percent? Pairs "
                 "of processes until that is known of each stack, 95 % for the answer as a whole")
      ->check(CLI::Range(0.1, 10000.0))
      ->type_name("PERCENT");
  app.add_option(
         "--check", options->check,
         "Where did this check of a run's cell begin to fail? The cell as `explain` takes it, and the metric; of "
         "several checks 'METRIC of MEASUREMENT'. The cell is run and judged on each stack as it was there")
      ->expected(2)
      ->type_name("CELL METRIC");
  app.add_option("--run", options->run, "The run of that cell, its id or directory; default: the newest of the store")
      ->type_name("RUN");
  app.add_option("--knob", options->knobs, "A knob of all stacks, may be repeated")->type_name("NAME=VALUE");
  app.add_option("--worker", options->workers, "Run a stack with this command instead of its installed worker")
      ->type_name("STACK=COMMAND");
  app.add_flag("--install", options->install,
               "Install stacks of wheels that are not there, when the search comes to them; else they are untestable");
  app.add_flag("--again", options->again, "Nothing that is known from an earlier call counts");
  app.add_flag("--json", options->json, "One JSON document (schema: bisect)");
  return [options, &context] { return run_bisect(*options, context); };
}

}  // namespace reprobench
