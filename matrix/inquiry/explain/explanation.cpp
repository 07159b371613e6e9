#include "matrix/inquiry/explain/explanation.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "matrix/contract/state_cadence.hpp"
#include "matrix/evidence/trace_chain.hpp"
#include "matrix/inquiry/explain/replay_files.hpp"
#include "matrix/inquiry/explain/source_diagnosis.hpp"
#include "matrix/inquiry/explain/source_judgement.hpp"
#include "matrix/inquiry/explain/source_replays.hpp"
#include "matrix/inquiry/explain/step_judgement.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {
namespace {

// The steps among which the first difference arose. Where every tensor is digested it is the differing one, or the one
// before it where the step began with another parameter, which it may have where its tensors are not on record; at
// level `step` all since the state was last seen equal.
std::int64_t first_suspect_step(const ComparedSide& side, const Divergence& first) {
  if (!digests_tensors(side.request.trace)) return first_step_unseen(first.step);
  const bool may_be_of_parameters = first.tensor.empty() || first.role == to_string(TensorRole::parameter);
  return may_be_of_parameters ? std::max<std::int64_t>(1, first.step - 1) : first.step;
}

// One explanation in the making: both sides' replays, and what they have shown so far.
class Explainer {
 public:
  Explainer(const ComparedSide& measured, const ComparedSide& expected, const Divergence& first,
            const ExplainSettings& settings, Replays& replays)
      : measured_(measured),
        expected_(expected),
        first_(first),
        settings_(settings),
        replays_(replays),
        sources_(measured, expected, replays, result_) {}

  Explanation run(const std::vector<SideDifference>& differences) {
    replay_operators();
    if (!result_.call && !result_.region) compare_states();
    if (diverging_step_ > 0) {
      sources_.judge_sources();
      sources_.judge_behind();
    }
    if (settings_.lockstep_batches > 0) {
      judge_steps({measured_, expected_, settings_}, expected_folder_, start_ - 1, replays_, result_);
    }
    diagnose_sources(result_);
    result_.suspect = suspect_of(blamed_operator(result_), differences);
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
    const auto outcomes = sources_.run_both("operators", replay, replay);
    check_reproduced(measured_, outcomes[0]);
    check_reproduced(expected_, outcomes[1]);
    measured_folder_ = outcomes[0].folder;
    expected_folder_ = outcomes[1].folder;
    const OperatorCalls ours = operators_left_in(measured_folder_, start_, first_.step);
    const OperatorCalls theirs = operators_left_in(expected_folder_, start_, first_.step);
    for (std::int64_t step = start_; step <= first_.step; ++step) {
      const auto our_calls = ours.of_step(step);
      const auto their_calls = theirs.of_step(step);
      StepDivergence divergence = divergence_of_step(our_calls, their_calls);
      if (divergence.sources.empty()) continue;
      take(std::move(divergence));
      diverging_step_ = step;
      sources_.begin({start_,
                      step,
                      {measured_folder_ / snapshot_file(start_ - 1), expected_folder_ / snapshot_file(start_ - 1)},
                      our_calls,
                      their_calls});
      look_at_what_is_kept();
      if (result_.call) result_.diverging_operators = diverging_operator_names(our_calls, their_calls);
      return;
    }
  }

  void take(StepDivergence divergence) {
    result_.calls_apart = divergence.calls_apart;
    result_.gradient_calls_apart = divergence.gradient_calls_apart;
    for (std::size_t i = 0; i < divergence.sources.size(); ++i) {
      DivergencePoint& source = divergence.sources[i];
      if (i == 0 && !divergence.begins_apart) {
        result_.call = std::move(source.call);
        result_.region = std::move(source.region);
      } else {
        sources_.take_further(std::move(source), false);
      }
    }
  }

  // Calls at the end of a step that one side alone makes: the other one makes the values otherwise, or not at all. That
  // the states after the step say.
  void look_at_what_is_kept() {
    std::vector<OperatorRegion*> regions;
    const auto add = [&](DifferenceSource& source) {
      if (!source.region) return;
      const OperatorRegion& region = *source.region;
      const bool is_at_end = region.measured.at.step == 0 || region.expected.at.step == 0;
      if (is_at_end) regions.push_back(&*source.region);
    };
    add(result_);
    for (FurtherSource& source : result_.further_sources) add(source);
    if (regions.empty()) return;
    const auto kept = kept_states();
    for (OperatorRegion* region : regions) {
      OperatorSubgraph& subgraph = region->measured.calls.empty() ? region->measured : region->expected;
      subgraph.kept = kept[region->measured.calls.empty() ? 0 : 1];
      subgraph.not_on_record = subgraph.kept.empty();
    }
    for (FurtherSource& source : result_.further_sources) source.no_budget = SourceReplays::not_captured(source);
  }

  // What the measured side leaves as it is in that step and the expected one changes; and the other way round.
  std::array<std::vector<std::string>, 2> kept_states() {
    const auto step_with_states = [&](SourceReplays::Side side) {
      Replay replay = sources_.step_of(side);
      replay.snapshots_after = {diverging_step_ - 1, diverging_step_};
      return replay;
    };
    const auto outcomes = sources_.run_both("states", step_with_states(SourceReplays::Side::measured),
                                            step_with_states(SourceReplays::Side::expected));
    std::array<std::vector<std::string>, 2> kept;
    std::array<std::map<std::string, bool>, 2> changed;
    for (const std::size_t side : {0, 1}) {
      const auto before = tensors_left_in(outcomes[side].folder, snapshot_file(diverging_step_ - 1));
      const auto after = tensors_left_in(outcomes[side].folder, snapshot_file(diverging_step_));
      for (const TensorView& tensor : after.tensors()) {
        const TensorView* old = find_tensor(before.tensors(), tensor.name);
        changed[side][tensor.name] = old == nullptr || !std::ranges::equal(old->bytes, tensor.bytes);
      }
    }
    for (const std::size_t side : {0, 1}) {
      for (const auto& [name, is_changed] : changed[side]) {
        const auto other = changed[1 - side].find(name);
        if (!is_changed && other != changed[1 - side].end() && other->second) kept[side].push_back(name);
      }
    }
    return kept;
  }

  // A replay that takes another course than the run shows nothing about the run.
  void check_reproduced(const ComparedSide& side, const ReplayOutcome& outcome) {
    if (same_course(*side.attempt.lead().trace, *outcome.attempt.lead().trace, first_.step)) return;
    result_.not_reproduced.push_back(side.label);
    result_.notes.push_back(
        fmt::format("{} does not repeat itself: the replay did not give the run's bits up to step {}, and what follows "
                    "is about the replay",
                    side.label, first_.step));
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
        result_.element = differing_element(fmt::format("{} after step {}", name, step),
                                            find_tensor(ours.tensors(), name), find_tensor(theirs.tensors(), name));
      };
      find_in(first_.tensor);
      for (const TensorView& tensor : ours.tensors()) {
        if (!result_.element) find_in(tensor.name);
      }
      if (result_.element) return;
    }
  }

  const ComparedSide& measured_;
  const ComparedSide& expected_;
  const Divergence& first_;
  const ExplainSettings& settings_;
  Replays& replays_;
  std::int64_t start_ = 1;
  std::int64_t diverging_step_ = 0;  // in which a source was found
  std::filesystem::path measured_folder_;
  std::filesystem::path expected_folder_;
  Explanation result_;
  SourceReplays sources_;
};

}  // namespace

Explanation explain_difference(const ComparedSide& measured, const ComparedSide& expected, const Divergence& first,
                               const std::vector<SideDifference>& differences, const ExplainSettings& settings,
                               Replays& replays) {
  return Explainer(measured, expected, first, settings, replays).run(differences);
}

}  // namespace reprobench
