#include "matrix/inquiry/selftest/selftest.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <set>

#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/inquiry/explain/explanation.hpp"
#include "matrix/inquiry/explain/lockstep_bounds.hpp"
#include "matrix/inquiry/explain/source_diagnosis.hpp"
#include "matrix/inquiry/explain/step_judgement.hpp"
#include "matrix/inquiry/selftest/selftest_answer.hpp"
#include "matrix/inquiry/selftest/selftest_table.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/divergence.hpp"

namespace reprobench {
namespace {

struct ParameterShape {
  std::string name;
  std::int64_t elements = 0;
};

// The first placement of a fault that was not right, so that it can be planted again by hand.
struct FirstWrong {
  std::string not_found;
  std::string elsewhere;
  std::string misexplained;
  std::string why;  // it was explained so
};

// One workload under test: its clean run, and everything that is held against it.
class WorkloadTest {
 public:
  WorkloadTest(const SelftestSettings& settings, const std::string& model, const WorkloadPreset& preset,
               Replays& replays)
      : settings_(settings), label_(model + "/" + preset.name), replays_(replays), random_(settings.seed) {
    clean_.workload = {model, preset.name, settings.steps, preset.batch_size};
    clean_.stack = settings.stack;
    clean_.device = "cpu";
    clean_.knobs = with_defaults({});
    clean_.trace = TraceLevel::tensor;
    is_transformer_ = model != "mlp";
  }

  // `planted`: names of the faults that another workload has had.
  std::vector<SelftestRow> run(const Announce& announce, std::set<std::string>& planted) {
    run_clean();
    std::vector<SelftestRow> rows{clean_row()};
    for (const SelftestFault& fault : selftest_faults()) {
      if ((fault.needs_transformer && !is_transformer_) || !is_asked(fault)) continue;
      if (!planted.insert(name_of(fault)).second && settings_.once) continue;
      announce(fmt::format("{}: {}", label_, name_of(fault)));
      rows.push_back(test(fault, announce));
    }
    announce("");
    return rows;
  }

 private:
  // The clean run with its state for B2, and the fresh processes that must give its bits.
  void run_clean() {
    CellRequest request = clean_;
    Replay replay;
    replay.last_step = settings_.steps;
    replay.snapshots_after = {settings_.state};
    request.replay = replay;
    std::vector<ReplayTask> tasks{{"clean", request}};
    for (int i = 0; i < settings_.clean_pairs; ++i) tasks.push_back({fmt::format("again-{}", i), clean_});
    auto outcomes = replays_.run(tasks);
    baseline_ = std::move(outcomes.front());
    for (std::size_t i = 1; i < outcomes.size(); ++i) repeats_.push_back(std::move(outcomes[i]));
    for (const TensorRecord& tensor : baseline_.attempt.lead().trace->tensors.front().tensors) {
      if (tensor.role != TensorRole::parameter) continue;
      parameters_.push_back({tensor.name, std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                                                          std::multiplies<std::int64_t>())});
    }
    if (settings_.batches == 0) return;
    ReplayTask exact{"fp64", held(clean_)};
    set<&Settings::precision>(exact.request.knobs, Precision::fp64);
    const auto held_outcomes = replays_.run({{"reference", held(clean_)}, exact});
    reference_folder_ = held_outcomes[0].folder;
    exact_folder_ = held_outcomes[1].folder;
  }

  SelftestRow clean_row() const {
    SelftestRow row;
    row.fault = "nothing";
    row.workload = label_;
    row.planted = static_cast<int>(repeats_.size());
    for (const ReplayOutcome& repeat : repeats_) {
      const auto comparison = compare_traces(*repeat.attempt.lead().trace, *baseline_.attempt.lead().trace);
      if (comparison.first) ++row.false_alarms;
    }
    row.passed = row.false_alarms == 0;
    if (!row.passed) row.problem = "a clean run in a fresh process gave other bits";
    return row;
  }

  // Gradients of many batches from the state of the clean run.
  CellRequest held(CellRequest request) const {
    Replay replay;
    replay.from_state = baseline_.folder / snapshot_file(settings_.state);
    replay.first_step = settings_.state + 1;
    replay.last_step = settings_.state + settings_.batches;
    replay.hold_state = true;
    request.replay = replay;
    return request;
  }

  std::int64_t draw(std::int64_t below) { return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_); }

  // Empty: none of that name, so it is every one that the fault can change.
  std::string draw_module(std::string_view end) {
    std::vector<std::string> names;
    for (const TensorRecord& tensor : baseline_.attempt.lead().trace->tensors.front().tensors) {
      if (tensor.role == TensorRole::forward_output && tensor.name.ends_with(end)) names.push_back(tensor.name);
    }
    return names.empty() ? "" : names[static_cast<std::size_t>(draw(std::ssize(names)))];
  }

  bool is_asked(const SelftestFault& fault) const {
    return settings_.faults.empty() || std::ranges::find(settings_.faults, fault.kind) != settings_.faults.end();
  }

  // "threads=2"
  static bool is_knob(std::string_view text) { return text.find('=') != std::string_view::npos; }
  static void set_knob(std::string_view text, CellRequest& request) {
    const auto equals = text.find('=');
    request.knobs[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }

  // The clean request with one placement of the fault.
  CellRequest faulty(const SelftestFault& fault) {
    CellRequest request = clean_;
    if (is_knob(fault.kind)) {
      set_knob(fault.kind, request);
      return request;
    }
    Injection injection{std::string(fault.kind), 2 + draw(settings_.steps - 2), "", 0};
    if (is_knob(fault.beside)) {
      set_knob(fault.beside, request);
      injection.step = 1;  // where the knob makes the first difference
    }
    if (fault.target == FaultTarget::parameter || fault.target == FaultTarget::bias) {
      std::vector<ParameterShape> candidates;
      for (const ParameterShape& parameter : parameters_) {
        if (fault.target == FaultTarget::parameter || parameter.name.ends_with(".bias")) {
          candidates.push_back(parameter);
        }
      }
      if (candidates.empty()) throw UsageError(fmt::format("{}: no parameter to plant {} in", label_, fault.kind));
      const ParameterShape& chosen = candidates[static_cast<std::size_t>(draw(std::ssize(candidates)))];
      injection.tensor = chosen.name;
      if (fault.place != PlantedAt::own_update) injection.element = draw(chosen.elements);  // else it is of all
      if (fault.target == FaultTarget::bias) injection.step = 1;  // while biases are zero: only the sign changes
    } else if (fault.target == FaultTarget::sample) {
      injection.element = draw(clean_.workload.batch_size);
    } else if (fault.target == FaultTarget::module) {
      injection.tensor = draw_module(fault.module);
    } else if (fault.target == FaultTarget::product) {
      injection.element = draw(is_transformer_ ? 60 : 5);
    }
    request.inject = injection;
    return request;
  }

  // Different ones as long as they are easily found: the same placement again would only give the same bits again.
  std::vector<ReplayTask> placements_of(const SelftestFault& fault) {
    constexpr int kMostDraws = 50;
    std::vector<ReplayTask> tasks;
    std::set<std::string> known;
    for (int i = 0; i < (is_knob(fault.kind) ? 1 : settings_.placements); ++i) {
      CellRequest request = faulty(fault);
      for (int draw = 1; draw < kMostDraws && !known.insert(to_json(request).dump()).second; ++draw) {
        request = faulty(fault);
      }
      tasks.push_back({fmt::format("fault-{}", i), std::move(request)});
    }
    return tasks;
  }

  SelftestRow test(const SelftestFault& fault, const Announce& announce) {
    SelftestRow row;
    first_ = {};
    row.fault = name_of(fault);
    row.workload = label_;
    row.expected_word = settings_.batches > 0 ? fault.judged : "";
    row.expected_answer = settings_.explained > 0 ? fault.answer : "";
    const std::vector<ReplayTask> tasks = placements_of(fault);
    const auto outcomes = replays_.run_to_any_end(tasks);
    for (std::size_t i = 0; i < outcomes.size(); ++i) hold_against_clean(fault, tasks[i].request, outcomes[i], row);
    if (!row.expected_answer.empty()) explain(fault, tasks, outcomes, row, announce);
    if (!row.expected_word.empty()) judge(fault, row);
    conclude(fault, row);
    return row;
  }

  // "step=3,tensor=fc1.weight,element=17", as --inject takes it.
  static std::string place_of(const CellRequest& request) {
    if (!request.inject) return "";
    std::string place = fmt::format("step={}", request.inject->step);
    if (!request.inject->tensor.empty()) place += ",tensor=" + request.inject->tensor;
    return place + fmt::format(",element={}", request.inject->element);
  }

  static std::string at(const std::string& place) {
    return place.empty() ? "" : fmt::format("; the first at {}", place);
  }

  void hold_against_clean(const SelftestFault& fault, const CellRequest& request, const ReplayOutcome& outcome,
                          SelftestRow& row) {
    const SelftestRow before = row;
    count_found(fault, request, outcome, row);
    if (row.located > before.located) return;
    std::string& first = row.found > before.found ? first_.elsewhere : first_.not_found;
    if (first.empty()) first = place_of(request);
  }

  void count_found(const SelftestFault& fault, const CellRequest& request, const ReplayOutcome& outcome,
                   SelftestRow& row) const {
    ++row.planted;
    const AttemptRecord& attempt = outcome.attempt;
    if (attempt.end != AttemptEnd::completed) {
      const bool not_finite = attempt.lead().result && attempt.lead().result->failure &&
                              attempt.lead().result->failure->cause == "non_finite_loss";
      const bool as_planted = not_finite && fault.place == PlantedAt::end_of_run &&
                              attempt.lead().result->failure->step == request.inject->step;
      row.found += not_finite;
      row.located += as_planted;
      if (!as_planted) row.problem = fmt::format("ended as {}: {}", to_string(attempt.end), attempt.detail);
      return;
    }
    if (attempt.lead().result->workload_digest != baseline_.attempt.lead().result->workload_digest) {
      ++row.found;
      row.located += fault.place == PlantedAt::not_comparable;
      return;
    }
    const auto comparison = compare_traces(*attempt.lead().trace, *baseline_.attempt.lead().trace);
    if (!comparison.first) {
      ++row.without_effect;
      return;
    }
    ++row.found;
    row.located += is_where_planted(fault.place, request, *comparison.first);
  }

  static bool is_where_planted(PlantedAt place, const CellRequest& request, const Divergence& first) {
    if (place == PlantedAt::anywhere) return true;
    if (!request.inject) return false;  // a knob that was to make another workload, and did not
    const std::int64_t step = request.inject->step;
    const std::string& tensor = request.inject->tensor;
    switch (place) {
      case PlantedAt::parameter:
        return first.step == step && first.role == "parameter" && first.tensor == tensor;
      case PlantedAt::gradient:
        return first.step == step && first.role == "parameter_gradient" && first.tensor == tensor;
      case PlantedAt::moment:
        return first.step == step && first.role == "optimizer_state" && first.tensor == tensor + ".exp_avg";
      case PlantedAt::input:
        return first.step == step && first.role == "input";
      case PlantedAt::any_moment:
        return first.step == step && first.role == "optimizer_state";
      case PlantedAt::own_update:
        return (first.step == step && first.role == "optimizer_state" && first.tensor.starts_with(tensor + ".")) ||
               (first.step == step + 1 && first.role == "parameter" && first.tensor == tensor);
      case PlantedAt::next_parameters:
        return first.role == "parameter" && (first.step == step + 1 || step == request.workload.steps);
      case PlantedAt::operator_output:
        return first.step == step;
      default:
        return false;
    }
  }

  // Of the first placements that changed bits.
  void explain(const SelftestFault& fault, const std::vector<ReplayTask>& tasks,
               const std::vector<ReplayOutcome>& outcomes, SelftestRow& row, const Announce& announce) {
    for (std::size_t i = 0; i < outcomes.size() && row.explained < settings_.explained; ++i) {
      announce(fmt::format("{}: {}, {} of {} explained", label_, row.fault, row.explained, settings_.explained));
      const std::size_t calls_before = replays_.calls_left();
      std::optional<Explanation> explanation = explanation_of(fault, tasks[i], outcomes[i]);
      while (explanation && is_by_chance(fault, *explanation) && row.unrepeated < kMostUnrepeated) {
        ++row.unrepeated;
        auto again = explanation_of(fault, tasks[i], replays_.run_to_any_end({tasks[i]}).front());
        if (!again) break;  // a run that crashes, or changes no bit, takes nothing back
        explanation = std::move(again);
      }
      while (replays_.calls_left() > calls_before) replays_.remove_latest();
      if (!explanation) continue;
      const SelftestAnswer answer = answer_to(fault, *explanation);
      if (row.explained == row.explained_right) row.answer = answer.text;  // the first wrong one stays
      ++row.explained;
      row.explained_right += answer.is_right ? 1 : 0;
      if (answer.is_right || !first_.misexplained.empty()) continue;
      first_.misexplained = place_of(tasks[i].request);
      first_.why = answer.why;
    }
  }

  // Nothing: the run did not end well, or has the bits of the clean one.
  std::optional<Explanation> explanation_of(const SelftestFault& fault, const ReplayTask& task,
                                            const ReplayOutcome& outcome) {
    const AttemptRecord& attempt = outcome.attempt;
    if (attempt.end != AttemptEnd::completed) return std::nullopt;
    const auto first = compare_traces(*attempt.lead().trace, *baseline_.attempt.lead().trace).first;
    if (!first) return std::nullopt;
    const ComparedSide clean{"clean", clean_, baseline_.attempt, baseline_.folder};
    const ComparedSide planted{std::string(fault.kind), task.request, attempt, outcome.folder};
    return explain_difference(planted, clean, *first, {}, {true, settings_.batches, {}}, replays_);
  }

  // A setting with which the stack itself computes by chance says nothing about the detector, which is right to call it
  // wrong: the first call of MKL's vector functions on two threads, for example. It is asked again of another run.
  static bool is_by_chance(const SelftestFault& fault, const Explanation& explanation) {
    return is_knob(fault.kind) && !repeats_itself(explanation);
  }

  void judge(const SelftestFault& fault, SelftestRow& row) {
    CellRequest request = faulty(fault);
    if (request.inject) request.inject->step = settings_.state + 1;
    if (request.inject) request.workload.steps = std::max(request.workload.steps, settings_.state + 1);
    const CellRequest held_request = held(clean_);
    const ComparedSide clean{"clean", clean_, baseline_.attempt, baseline_.folder};
    const auto judged = [&] {
      const auto outcome = replays_.run({{"candidate", held(request)}});
      const ComparedSide candidate{"candidate", request, outcome[0].attempt, outcome[0].folder};
      const LockstepOptions options = lockstep_options(request, legitimate_ratio_of(candidate, clean, {}));
      Lockstep lockstep =
          judge_lockstep_files(outcome[0].folder, reference_folder_, exact_folder_, *held_request.replay, options);
      replays_.remove_latest();
      return lockstep;
    };
    Lockstep lockstep = judged();
    while (is_knob(fault.kind) && lockstep.word == LockstepWord::defect && row.unrepeated < kMostUnrepeated) {
      Lockstep again = judged();
      if (again.word == LockstepWord::defect) break;
      ++row.unrepeated;
      lockstep = std::move(again);
    }
    row.word = to_string(lockstep.word);
    for (const LockstepTensor& tensor : lockstep.tensors) {
      row.error_ratio = std::max(row.error_ratio, tensor.error_ratio);
      if (tensor.pooled) row.pooled_ratio = std::max(row.pooled_ratio, tensor.pooled->ratio);
    }
    if (!lockstep.tensors.empty()) row.worst_tensor = lockstep.tensors.front().name;
  }

  // A fault must be found and located every time; what may keep the bits only where it changes them.
  void conclude(const SelftestFault& fault, SelftestRow& row) const {
    const bool may_keep_bits = fault.place == PlantedAt::anywhere || fault.place == PlantedAt::own_update ||
                               fault.target == FaultTarget::product;
    if (!may_keep_bits && row.found < row.planted) {
      row.problem = fmt::format("{} of {} not found{}", row.planted - row.found, row.planted, at(first_.not_found));
    } else if (row.located < row.found) {
      row.problem =
          fmt::format("{} of {} named at another place{}", row.found - row.located, row.found, at(first_.elsewhere));
    } else if (row.explained_right < row.explained) {
      row.problem =
          fmt::format("explained as {} in {} of {}, expected {}{}: {}", row.answer, row.explained - row.explained_right,
                      row.explained, row.expected_answer, at(first_.misexplained), first_.why);
    } else if (row.expected_word != "any" && row.word != row.expected_word) {
      row.problem = fmt::format("judged {}, expected {}", row.word, row.expected_word);
    }
    row.passed = row.problem.empty();
  }

  const SelftestSettings& settings_;
  std::string label_;
  Replays& replays_;
  std::mt19937_64 random_;
  CellRequest clean_;
  bool is_transformer_ = false;
  ReplayOutcome baseline_;
  std::vector<ReplayOutcome> repeats_;
  std::vector<ParameterShape> parameters_;
  FirstWrong first_;  // of the fault in hand
  std::filesystem::path reference_folder_;
  std::filesystem::path exact_folder_;
};

const WorkloadPreset& preset_named(const Capability& capability, const std::string& model, const std::string& name) {
  for (const WorkloadDescription& workload : capability.workloads) {
    if (workload.model != model) continue;
    for (const WorkloadPreset& preset : workload.presets) {
      if (preset.name == name) return preset;
    }
  }
  throw UsageError(fmt::format("this stack's worker has no workload {}/{}", model, name));
}

void require_faults(const std::vector<std::string>& asked) {
  std::vector<std::string> kinds;
  for (const SelftestFault& fault : selftest_faults()) kinds.emplace_back(fault.kind);
  for (const std::string& kind : asked) {
    if (std::ranges::find(kinds, kind) == kinds.end()) throw UsageError(unknown_name("fault", kind, kinds));
  }
}

}  // namespace

std::vector<SelftestRow> run_selftest(const SelftestSettings& settings, const Capability& capability, Replays& replays,
                                      const Announce& announce) {
  std::vector<SelftestRow> rows;
  require_faults(settings.faults);
  std::set<std::string> planted;
  for (const auto& [model, preset] : settings.workloads) {
    WorkloadTest test(settings, model, preset_named(capability, model, preset), replays);
    for (SelftestRow& row : test.run(announce, planted)) rows.push_back(std::move(row));
    replays.remove_files();
  }
  return rows;
}

}  // namespace reprobench
