#include "matrix/inquiry/explanation.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "matrix/contract/number.hpp"
#include "matrix/contract/state_cadence.hpp"
#include "matrix/evidence/trace_chain.hpp"
#include "matrix/inquiry/headline.hpp"
#include "matrix/inquiry/replay_files.hpp"
#include "matrix/verdict/accumulator.hpp"
#include "matrix/verdict/snapshot_comparison.hpp"

namespace reprobench {
namespace {

// The steps among which the first difference arose. At level `tensor` it is the differing one, or the one before it
// where the step began with another parameter; at level `step` all since the state was last seen equal.
std::int64_t first_suspect_step(const ComparedSide& side, const Divergence& first) {
  if (side.request.trace == TraceLevel::tensor) {
    return first.role == to_string(TensorRole::parameter) ? std::max<std::int64_t>(1, first.step - 1) : first.step;
  }
  return first_step_unseen(first.step);
}

CellRequest replay_of(const ComparedSide& side, Replay replay) {
  CellRequest request = side.request;
  request.replay = std::move(replay);
  return request;
}

// A worker's own text.
std::optional<double> finite_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

// One explanation in the making: both sides' replays, and what they have shown so far.
class Explainer {
 public:
  Explainer(const ComparedSide& measured, const ComparedSide& expected, const Divergence& first,
            const ExplainSettings& settings, Replays& replays)
      : measured_(measured), expected_(expected), first_(first), settings_(settings), replays_(replays) {}

  Explanation run(const std::vector<SideDifference>& differences) {
    replay_operators();
    if (result_.call) {
      capture_call();
    } else if (result_.region) {
      capture_outflow();
    } else {
      compare_states();
    }
    if (settings_.lockstep_batches > 0) judge_steps();
    result_.headline = headline_of(result_);
    result_.suspect = suspect_of(operator_named(), differences);
    return std::move(result_);
  }

 private:
  void replay_operators() {
    start_ = first_suspect_step(measured_, first_);
    Replay replay;
    replay.last_step = first_.step;
    replay.operators_from = start_;
    replay.operators_to = first_.step;
    replay.snapshots_after = {start_ - 1, first_.step};
    const auto outcomes = run_both("operators", replay, replay);
    check_reproduced(measured_, outcomes[0]);
    check_reproduced(expected_, outcomes[1]);
    measured_folder_ = outcomes[0].folder;
    expected_folder_ = outcomes[1].folder;
    const OperatorCalls ours = operators_left_in(measured_folder_, start_, first_.step);
    const OperatorCalls theirs = operators_left_in(expected_folder_, start_, first_.step);
    for (std::int64_t step = start_; step <= first_.step && !result_.call && !result_.region; ++step) {
      const auto our_calls = ours.of_step(step);
      const auto their_calls = theirs.of_step(step);
      OperatorParting parting = where_values_part(our_calls, their_calls);
      result_.call = std::move(parting.call);
      result_.region = std::move(parting.region);
      if (result_.call) result_.diverging_operators = diverging_operator_names(our_calls, their_calls);
    }
  }

  std::vector<ReplayOutcome> run_both(const std::string& what, const Replay& measured, const Replay& expected) {
    return replays_.run({{"a-" + what, replay_of(measured_, measured)}, {"b-" + what, replay_of(expected_, expected)}});
  }

  // A replay that takes another course than the run shows nothing about the run.
  void check_reproduced(const ComparedSide& side, const ReplayOutcome& outcome) {
    if (same_course(*side.attempt.lead().trace, *outcome.attempt.lead().trace, first_.step)) return;
    result_.notes.push_back(
        fmt::format("{}: the replay did not give the run's bits up to step {}: this side is not "
                    "reproducible, and what follows is about the replay",
                    side.label, first_.step));
  }

  // The one whose library is asked for: of a stretch the call that ends it.
  std::string operator_named() const {
    if (result_.call) return result_.call->measured.name;
    if (!result_.region) return "";
    for (const OperatorStretch* stretch : {&result_.region->measured, &result_.region->expected}) {
      if (!stretch->calls.empty()) return stretch->calls.back().name;
    }
    return "";
  }

  Replay capture_of(const std::filesystem::path& folder, const OperatorRecord& call,
                    const std::vector<OperatorRecord>& stretch = {}) const {
    Replay replay;
    replay.from_state = folder / snapshot_file(start_ - 1);
    replay.first_step = start_;
    replay.last_step = call.step;
    replay.capture = OperatorSite{call.step, call.index};
    for (const OperatorRecord& before : stretch) replay.capture->stretch.push_back(before.index);
    return replay;
  }

  // What the two stretches made.
  void capture_outflow() {
    const OperatorStretch& measured = result_.region->measured;
    const OperatorStretch& expected = result_.region->expected;
    const auto outcomes = run_both("tensors", capture_of(measured_folder_, measured.at, measured.calls),
                                   capture_of(expected_folder_, expected.at, expected.calls));
    const auto ours = tensors_left_in(outcomes[0].folder, kOperatorTensorsFile);
    const auto theirs = tensors_left_in(outcomes[1].folder, kOperatorTensorsFile);
    const auto value = [](const OperatorStretch& stretch, const SafetensorsFile& file, bool is_exact) {
      const char* kind = stretch.is_taken ? (is_exact ? "exact_input" : "input") : (is_exact ? "fp64" : "output");
      return find_tensor(file.tensors(), fmt::format("{}.{}", kind, stretch.place));
    };
    const TensorView* a = value(measured, ours, false);
    const TensorView* b = value(expected, theirs, false);
    find_element(fmt::format("what {} made", names_of(measured.calls.empty() ? expected : measured, 4)), a, b);
    for (const SafetensorsFile* file : {&ours, &theirs}) {
      const auto problem = file->metadata().find("stretch");
      if (problem == file->metadata().end()) continue;
      result_.no_budget = "the stretch cannot be carried out in fp64: " + problem->second;
      return;
    }
    weigh({a, b, value(measured, ours, true), value(expected, theirs, true)}, {});
  }

  void capture_call() {
    const auto outcomes = run_both("tensors", capture_of(measured_folder_, result_.call->measured),
                                   capture_of(expected_folder_, result_.call->expected));
    const auto ours = tensors_left_in(outcomes[0].folder, kOperatorTensorsFile);
    const auto theirs = tensors_left_in(outcomes[1].folder, kOperatorTensorsFile);
    const std::string output = fmt::format("output.{}", result_.call->output);
    find_element(fmt::format("output {} of {}", result_.call->output, result_.call->measured.name),
                 find_tensor(ours.tensors(), output), find_tensor(theirs.tensors(), output));
    const std::string exact = fmt::format("fp64.{}", result_.call->output);
    weigh({find_tensor(ours.tensors(), output), find_tensor(theirs.tensors(), output),
           find_tensor(ours.tensors(), exact), find_tensor(theirs.tensors(), exact)},
          theirs.metadata());
    judge_call(ours, theirs);
    note_accumulator(ours, theirs, output);
  }

  // Two generations of tensor cores that made the call out of equal inputs.
  void note_accumulator(const SafetensorsFile& ours, const SafetensorsFile& theirs, const std::string& output) {
    const TensorView* a = find_tensor(ours.tensors(), output);
    const TensorView* b = find_tensor(theirs.tensors(), output);
    if (a == nullptr || b == nullptr) return;
    std::vector<TensorView> inputs;
    while (const TensorView* input = find_tensor(theirs.tensors(), fmt::format("input.{}", inputs.size()))) {
      inputs.push_back(*input);
    }
    const auto side = [](const CellRequest& request) {
      return ProductSide{request.device, request.knobs.at("tf32") == "on"};
    };
    const auto fit = explain_by_accumulator(result_.call->measured.name, inputs, *a, side(measured_.request), *b,
                                            side(expected_.request));
    if (fit) result_.notes.push_back(fit->sentence);
  }

  void find_element(const std::string& name, const TensorView* a, const TensorView* b) {
    if (a == nullptr || b == nullptr || a->dtype != b->dtype || a->shape != b->shape) return;
    const ElementType type = element_type_of(a->dtype);
    const Difference difference = diff(type, a->bytes, b->bytes);
    if (difference.equal_bits()) return;
    const ElementPair& first = *difference.first;
    result_.element = ElementFinding{name,
                                     a->shape,
                                     type,
                                     difference.count,
                                     difference.differing,
                                     difference.first_block,
                                     first.index,
                                     hex64(first.bits_a),
                                     hex64(first.bits_b),
                                     element_value(type, first.bits_a),
                                     element_value(type, first.bits_b),
                                     first.ulp,
                                     difference.largest ? difference.largest->ulp : std::nullopt};
    const double rms = std::sqrt(difference.reference_squares / static_cast<double>(difference.count));
    const double apart = std::abs(result_.element->measured - result_.element->expected);
    if (!(rms > 0) || !std::isfinite(apart)) return;
    result_.element->distance_rms = apart / rms;
    result_.element->max_distance_rms = difference.max_abs / rms;
  }

  // Both sides' values of one tensor, and what each asks for in fp64.
  struct Weighed {
    const TensorView* ours;
    const TensorView* theirs;
    const TensorView* our_exact;
    const TensorView* their_exact;
  };

  void weigh(const Weighed& of, const SafetensorsMetadata& metadata) {
    const auto is_exact = [](const TensorView* exact, const TensorView* value) {
      return exact != nullptr && exact->dtype == "F64" && exact->shape == value->shape;
    };
    if (of.ours != nullptr && of.theirs != nullptr &&
        (of.ours->dtype != of.theirs->dtype || of.ours->shape != of.theirs->shape)) {
      result_.no_budget = "the two outputs differ in type or shape";
      return;
    }
    if (of.ours == nullptr || of.theirs == nullptr || !is_exact(of.their_exact, of.theirs)) {
      const auto reason = metadata.find("fp64");
      result_.no_budget = reason == metadata.end() ? "the operator has no fp64 form" : reason->second;
      return;
    }
    const ElementType type = element_type_of(of.theirs->dtype);
    const bool has_both = is_exact(of.our_exact, of.ours);
    // Both are held against what the expected side asks for; how far the other asks for something else is said beside.
    const ErrorSums of_a = error_sums(type, of.ours->bytes, ElementType::fp64, of.their_exact->bytes);
    const ErrorSums of_b = error_sums(type, of.theirs->bytes, ElementType::fp64, of.their_exact->bytes);
    const Difference between = diff(type, of.ours->bytes, of.theirs->bytes);
    const auto relative = [&](double squares, const auto& counted) {
      return relative_distance(squares, of_b.reference_squares, counted.nan_mismatches + counted.inf_mismatches);
    };
    OperatorBudget budget;
    budget.measured_error_rel = relative(of_a.error_squares, of_a);
    budget.expected_error_rel = relative(of_b.error_squares, of_b);
    budget.distance_rel = relative(between.difference_squares, between);
    if (has_both) {
      const Difference forms = diff(ElementType::fp64, of.our_exact->bytes, of.their_exact->bytes);
      budget.forms_apart_rel = relative(forms.difference_squares, forms);
    }
    const auto amplification = metadata.find("amplification");
    if (amplification != metadata.end()) budget.amplification = finite_number(amplification->second);
    result_.budget = budget;
  }

  // Class B1: each side's call by itself.
  void judge_call(const SafetensorsFile& ours, const SafetensorsFile& theirs) {
    if (!result_.budget) return;
    const auto judged = [&](const ComparedSide& side, const OperatorRecord& call, const SafetensorsFile& file) {
      const auto is = [&](const char* knob, const char* value) {
        const auto found = side.request.knobs.find(knob);
        return found != side.request.knobs.end() && found->second == value;
      };
      const bool is_gpu = side.request.device != "cpu";
      const LocalSettings settings{is_gpu && is("tf32", "on"), is_gpu || !is("onednn", "on")};
      return local_error(call, result_.call->output, file.tensors(), settings);
    };
    result_.budget->measured = judged(measured_, result_.call->measured, ours);
    result_.budget->expected = judged(expected_, result_.call->expected, theirs);
  }

  // No call at all stands between equal and different values: something changed the state, the batch or a gradient
  // between operators.
  void compare_states() {
    result_.notes.push_back(
        "no call of these steps stands between equal and different values: the difference was there before an operator "
        "touched it");
    for (const std::int64_t step : {start_ - 1, first_.step}) {
      const auto ours = tensors_left_in(measured_folder_, snapshot_file(step));
      const auto theirs = tensors_left_in(expected_folder_, snapshot_file(step));
      const auto find_in = [&](const std::string& name) {
        find_element(fmt::format("{} after step {}", name, step), find_tensor(ours.tensors(), name),
                     find_tensor(theirs.tensors(), name));
      };
      find_in(first_.tensor);
      for (const TensorView& tensor : ours.tensors()) {
        if (!result_.element) find_in(tensor.name);
      }
      if (result_.element) return;
    }
  }

  bool of_other_libraries() const {
    return measured_.attempt.lead().result->fingerprint.blas_provider !=
           expected_.attempt.lead().result->fingerprint.blas_provider;
  }

  // Class B2, from the state before the difference and from every state asked for.
  void judge_steps() {
    if (measured_.request.knobs.at("precision") == "fp64") {
      result_.notes.push_back("no fp64 judgement: the runs are fp64 themselves");
      return;
    }
    if (of_other_libraries()) {
      result_.notes.push_back(
          "the two sides take their matrix products from different libraries, whose orders of summation may differ in "
          "accuracy: the pooled test allows that");
    }
    result_.lockstep_state = start_ - 1;
    result_.lockstep = judge_from(expected_folder_, start_ - 1);
    if (settings_.lockstep_states.empty()) return;
    Replay replay;
    replay.snapshots_after = settings_.lockstep_states;
    replay.last_step = std::max<std::int64_t>(
        1, *std::max_element(settings_.lockstep_states.begin(), settings_.lockstep_states.end()));
    const auto states = replays_.run({{"b-states", replay_of(expected_, replay)}});
    for (const std::int64_t state : settings_.lockstep_states) {
      const Lockstep judged = judge_from(states.front().folder, state);
      result_.lockstep_states.push_back({state, judged.word, judged.sentence});
    }
  }

  // Both sides and an fp64 run of the expected one take the same step from the same state, on many batches.
  Lockstep judge_from(const std::filesystem::path& states, std::int64_t state) {
    Replay replay;
    replay.from_state = states / snapshot_file(state);
    replay.first_step = state + 1;
    replay.last_step = state + settings_.lockstep_batches;
    replay.hold_state = true;
    ReplayTask exact{"c-fp64", replay_of(expected_, replay)};
    exact.request.knobs["precision"] = "fp64";
    exact.request.inject.reset();
    const auto outcomes = replays_.run(
        {{"a-lockstep", replay_of(measured_, replay)}, {"b-lockstep", replay_of(expected_, replay)}, exact});
    LockstepOptions options;
    options.precision = measured_.request.knobs.at("precision");
    if (of_other_libraries()) options.legitimate_ratio = kLegitimateRatioOfLibraries;
    return judge_lockstep_files(outcomes[0].folder, outcomes[1].folder, outcomes[2].folder, replay, options);
  }

  const ComparedSide& measured_;
  const ComparedSide& expected_;
  const Divergence& first_;
  const ExplainSettings& settings_;
  Replays& replays_;
  std::int64_t start_ = 1;
  std::filesystem::path measured_folder_;
  std::filesystem::path expected_folder_;
  Explanation result_;
};

}  // namespace

Lockstep judge_lockstep_files(const std::filesystem::path& measured, const std::filesystem::path& expected,
                              const std::filesystem::path& exact, const Replay& replay,
                              const LockstepOptions& options) {
  std::vector<SafetensorsFile> files;
  for (std::int64_t step = replay.first_step; step <= replay.last_step; ++step) {
    for (const auto& folder : {measured, expected, exact}) {
      files.push_back(tensors_left_in(folder, gradients_file(step)));
    }
  }
  std::vector<LockstepBatch> batches;
  for (std::size_t i = 0; i < files.size(); i += 3) {
    batches.push_back({files[i].tensors(), files[i + 1].tensors(), files[i + 2].tensors()});
  }
  return judge_lockstep(batches, options);
}

Explanation explain_difference(const ComparedSide& measured, const ComparedSide& expected, const Divergence& first,
                               const std::vector<SideDifference>& differences, const ExplainSettings& settings,
                               Replays& replays) {
  return Explainer(measured, expected, first, settings, replays).run(differences);
}

}  // namespace reprobench
