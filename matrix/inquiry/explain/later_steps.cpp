#include "matrix/inquiry/explain/later_steps.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "matrix/inquiry/explain/joint_sources.hpp"
#include "matrix/inquiry/explain/known_calls.hpp"
#include "matrix/inquiry/explain/replay_files.hpp"
#include "matrix/inquiry/explain/resumed_course.hpp"
#include "matrix/inquiry/explain/source_diagnosis.hpp"
#include "matrix/inquiry/explain/source_judgement.hpp"
#include "matrix/inquiry/explain/source_replays.hpp"

namespace reprobench {
namespace {

bool is_red(ExplainedWord word) { return rank_of(word) >= rank_of(ExplainedWord::another_computation); }

// One step from one state.
class StepFromState {
 public:
  // `behind`: on the values of the expected side, too, which takes three replays more.
  StepFromState(const ComparedSide& measured, const ComparedSide& expected, std::int64_t step,
                std::filesystem::path state, bool behind, Replays& replays, const Explanation& first)
      : measured_(measured),
        expected_(expected),
        step_(step),
        state_(std::move(state)),
        behind_(behind),
        known_(first),
        sources_(measured, expected, replays, found_, fmt::format("-{}", step), Looks::first) {
    if (!first.lockstep || first.lockstep->word == LockstepWord::defect) return;  // which one call of it may be
    found_.lockstep = first.lockstep;
    found_.lockstep_state = first.lockstep_state;
  }

  LaterStep judge() {
    const StepDivergence divergence = replay();
    sources_.judge_sources();
    // Another place may make up for what asks for something else, and values that differ already hide it.
    if (behind_ || has_other_questions(found_))
      sources_.judge_behind([&](const DivergencePoint& source) { return known_.knows(source); });
    const auto from_outside = sources_.from_outside().value_or(divergence.from_outside);
    if (!from_outside.empty()) {
      const OperatorRecord& reader = from_outside.front();
      return {
          step_, ExplainedWord::another_computation,
          fmt::format("both sides begin from one state, and {} ({} of `{}`) takes another value that no call of the "
                      "step made: another batch, state or gradient",
                      reader.name, reader.pass, reader.module.empty() ? "no module" : reader.module)};
    }
    diagnose_sources(found_);
    return in_words();
  }

 private:
  StepDivergence replay() {
    Replay ours;
    ours.from_state = state_;
    ours.first_step = ours.last_step = step_;
    ours.operators_from = ours.operators_to = step_;
    Replay theirs = ours;
    known_.ask(step_, ours, theirs);
    const auto outcomes = sources_.run_both("operators", ours, theirs);
    const auto our_calls = operators_left_in(outcomes[0].folder, step_, step_).of_step(step_);
    const auto their_calls = operators_left_in(outcomes[1].folder, step_, step_).of_step(step_);
    found_.further_sources = known_.beyond_bound({measured_.request, outcomes[0].folder, our_calls},
                                                 {expected_.request, outcomes[1].folder, their_calls});
    StepDivergence divergence = divergence_of_step(our_calls, their_calls);
    found_.calls_apart = divergence.calls_apart;
    sources_.begin({step_, step_, {state_, state_}, our_calls, their_calls});
    for (DivergencePoint& source : divergence.sources) {
      if (!known_.knows(source)) sources_.take_further(std::move(source), false);
    }
    return divergence;
  }

  LaterStep in_words() const {
    const auto& sources = found_.further_sources;
    if (found_.diagnosis) {
      std::string sentence = found_.diagnosis->sentence;  // of a source behind nothing: both sides begin alike
      if (sentence.starts_with(kBehindFirst)) sentence.erase(0, kBehindFirst.size());
      return {step_, found_.diagnosis->word, sentence};
    }
    if (!found_.notes.empty()) return {step_, ExplainedWord::undecided, found_.notes.front()};
    const auto open = std::ranges::find_if(
        sources, [](const FurtherSource& source) { return source.diagnosis.word == ExplainedWord::undecided; });
    if (open != sources.end()) {
      return {step_, ExplainedWord::undecided, fmt::format("{}: {}", operator_of(*open), open->diagnosis.sentence)};
    }
    return {step_, ExplainedWord::rounding,
            sources.empty() ? "no source that the first difference did not show"
                            : fmt::format("{} more source{}", sources.size(), sources.size() == 1 ? "" : "s")};
  }

  const ComparedSide& measured_;
  const ComparedSide& expected_;
  std::int64_t step_;
  std::filesystem::path state_;
  bool behind_;
  KnownCalls known_;
  Explanation found_;
  SourceReplays sources_;
};

void lead_with_worst(Explanation& explanation) {
  const auto worst =
      std::ranges::max_element(explanation.later_steps, {}, [](const LaterStep& later) { return rank_of(later.word); });
  if (worst == explanation.later_steps.end() || worst->word == ExplainedWord::rounding) return;
  auto& diagnosis = explanation.diagnosis;
  const auto& lockstep = explanation.lockstep;
  std::optional<ExplainedWord> by_itself;
  if (lockstep) by_itself = from_word<ExplainedWord>(to_string(lockstep->word));
  if (diagnosis) by_itself = diagnosis->word;
  // What the steps alone call a defect is explained by a call of a later one.
  const bool leads = by_itself && (is_red(*by_itself) ? is_shown_by_a_call(explanation) || !is_red(worst->word)
                                                      : rank_of(*by_itself) >= rank_of(worst->word));
  if (leads) return;
  diagnosis =
      Diagnosis{worst->word, fmt::format("{}in step {}: {}; the first one by itself: {}", kBehindFirst, worst->step,
                                         worst->sentence, by_itself ? to_string(*by_itself) : "not judged")};
}

// Of the records of that step.
std::string other_input(const TensorsRecord& measured, const TensorsRecord& expected) {
  for (const TensorRecord& ours : measured.tensors) {
    if (ours.role != TensorRole::input) continue;
    for (const TensorRecord& theirs : expected.tensors) {
      if (theirs.role == ours.role && theirs.name == ours.name && theirs.digest != ours.digest) return ours.name;
    }
  }
  return "";
}

// Whether a step leaves every parameter as it was; false where that is not on record, or it has none.
bool keeps_parameters(const Trace& trace, std::int64_t step, bool is_last) {
  const TensorsRecord* before = tensors_of_step(trace, step, false);
  const TensorsRecord* after = is_last ? tensors_of_step(trace, step, true) : tensors_of_step(trace, step + 1, false);
  if (before == nullptr || after == nullptr) return false;
  bool has_any = false;
  for (const TensorRecord& old : before->tensors) {
    if (old.role != TensorRole::parameter) continue;
    for (const TensorRecord& now : after->tensors) {
      if (now.role != old.role || now.name != old.name) continue;
      if (now.digest != old.digest) return false;
      has_any = true;
    }
  }
  return has_any;
}

using Digests = std::map<std::string, std::vector<std::string>>;

// Of every parameter before each step and after the last one; nothing where a step's tensors are not on record.
std::optional<Digests> parameter_digests(const Trace& trace) {
  Digests digests;
  const auto add = [&](const TensorsRecord* record) {
    if (record == nullptr) return false;
    for (const TensorRecord& tensor : record->tensors) {
      if (tensor.role == TensorRole::parameter) digests[tensor.name].push_back(tensor.digest);
    }
    return true;
  };
  for (const StepRecord& step : trace.steps) {
    if (!add(tensors_of_step(trace, step.step, false))) return std::nullopt;
  }
  if (trace.steps.empty() || !add(tensors_of_step(trace, trace.steps.back().step, true))) return std::nullopt;
  return digests;
}

// The place from which on nothing changes any more, where the other side's parameter changes at every step from there.
std::size_t stuck_from(const std::vector<std::string>& stuck, const std::vector<std::string>& moving) {
  std::size_t from = stuck.size() - 1;
  while (from > 0 && stuck[from - 1] == stuck.back()) --from;
  for (std::size_t i = from; i + 1 < moving.size(); ++i) {
    if (moving[i] == moving[i + 1]) return stuck.size() - 1;
  }
  return from;
}

// One update that changes nothing may be rounding. To the end of the run, and at least so many, they are none.
constexpr std::size_t kFewestStuck = 2;

std::optional<LaterStep> stuck_parameter(const Trace& measured, const Trace& expected, std::int64_t first) {
  const auto ours = parameter_digests(measured);
  const auto theirs = parameter_digests(expected);
  if (!ours || !theirs) return std::nullopt;
  for (const auto& [name, digests] : *ours) {
    const auto other = theirs->find(name);
    if (other == theirs->end() || other->second.size() != digests.size() || digests.empty()) continue;
    for (const bool is_ours : {true, false}) {
      const auto from = is_ours ? stuck_from(digests, other->second) : stuck_from(other->second, digests);
      const std::int64_t step = measured.steps.at(std::min(from, measured.steps.size() - 1)).step;
      if (digests.size() - 1 - from < kFewestStuck || step < first) continue;
      return LaterStep{step, ExplainedWord::another_computation,
                       fmt::format("from here on the {} side leaves `{}` as it is, and the other one does not",
                                   kSides[is_ours ? 0 : 1], name)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::int64_t> later_steps(const CellComparison& comparison, int most) {
  const auto& first = comparison.trace.first;
  if (!first || most <= 0) return {};
  const std::int64_t last = std::min(comparison.trace.steps_compared, kLastLaterStep);
  std::vector<std::int64_t> wanted{last};
  if (comparison.over_bound) wanted.push_back(comparison.over_bound->step);
  if (comparison.split) wanted.push_back(comparison.split->step);
  wanted.push_back((first->step + last) / 2);
  std::set<std::int64_t> steps;
  for (const std::int64_t step : wanted) {
    if (step > first->step && step <= last && static_cast<int>(steps.size()) < most) steps.insert(step);
  }
  return {steps.begin(), steps.end()};
}

std::vector<LaterStep> later_courses(const Trace& measured, const Trace& expected, std::int64_t first) {
  const std::int64_t last = measured.steps.empty() ? 0 : measured.steps.back().step;
  for (std::int64_t step = first + 1; step <= last; ++step) {
    const TensorsRecord* ours = tensors_of_step(measured, step, false);
    const TensorsRecord* theirs = tensors_of_step(expected, step, false);
    if (ours == nullptr || theirs == nullptr) continue;
    if (const std::string input = other_input(*ours, *theirs); !input.empty()) {
      return {{step, ExplainedWord::another_computation,
               fmt::format("the two sides take different batches: input `{}`", input)}};
    }
    const bool we_keep = keeps_parameters(measured, step, step == last);
    const bool they_keep = keeps_parameters(expected, step, step == last);
    if (we_keep == they_keep) continue;
    return {{step, ExplainedWord::another_computation,
             fmt::format("the {} side updates no parameter, and the other one does", kSides[we_keep ? 0 : 1])}};
  }
  if (const auto stuck = stuck_parameter(measured, expected, first)) return {*stuck};
  return {};
}

void judge_later_steps(const ComparedSide& measured, const ComparedSide& expected,
                       const std::vector<std::int64_t>& steps, Replays& replays, Explanation& explanation) {
  const bool is_found =
      is_shown_by_a_call(explanation) || std::ranges::any_of(explanation.later_steps, is_red, &LaterStep::word);
  if (!steps.empty() && !is_found) {
    try {
      ResumedCourse course(measured, expected, steps, replays);
      for (const std::int64_t step : steps) {
        StepFromState one(measured, expected, step, course.state_before(step), step == steps.back(), replays,
                          explanation);
        explanation.later_steps.push_back(one.judge());
        if (is_red(explanation.later_steps.back().word)) break;
      }
      if (!is_red(explanation.later_steps.back().word)) {
        for (LaterStep& other : course.differences()) explanation.later_steps.push_back(std::move(other));
      }
    } catch (const ReplayFailed& failure) {
      explanation.later_steps.push_back(
          {steps.back(), ExplainedWord::undecided, fmt::format("not judged: {}", failure.what())});
    }
  }
  lead_with_worst(explanation);
}

}  // namespace reprobench
