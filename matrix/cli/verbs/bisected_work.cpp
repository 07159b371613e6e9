#include "matrix/cli/verbs/bisected_work.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/cli/bisect_axis.hpp"
#include "matrix/cli/bisect_questions.hpp"
#include "matrix/cli/check_question.hpp"
#include "matrix/cli/component_bisect.hpp"
#include "matrix/cli/hybrid_mixes.hpp"
#include "matrix/cli/image_mixes.hpp"
#include "matrix/cli/text/bisect_text.hpp"
#include "matrix/cli/text/component_bisect_text.hpp"
#include "matrix/cli/verbs/knob_options.hpp"
#include "matrix/cli/verbs/store_option.hpp"
#include "matrix/cli/worker_commands.hpp"
#include "matrix/contract/declared_call.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/inquiry/compared_sides.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kSamplesOfBits = 1;
constexpr std::int64_t kSamplesOfSpeed = 30;

std::string whole_call(const std::string& text) {
  try {
    return parse_call(canonical_call(text)).text;
  } catch (const ContractError& error) {
    throw UsageError(fmt::format("--call: {}", error.what()));
  }
}

}  // namespace

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

namespace {

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

}  // namespace

ExitCode bisected(const BisectOptions& options, std::optional<CheckedCell> checked, Context& context) {
  return Bisector(options, std::move(checked), context).run();
}

}  // namespace reprobench
