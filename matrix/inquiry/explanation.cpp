#include "matrix/inquiry/explanation.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "matrix/contract/state_cadence.hpp"
#include "matrix/evidence/trace_chain.hpp"
#include "matrix/inquiry/given_values.hpp"
#include "matrix/inquiry/headline.hpp"
#include "matrix/inquiry/joint_sources.hpp"
#include "matrix/inquiry/replay_files.hpp"
#include "matrix/inquiry/side_captures.hpp"
#include "matrix/inquiry/source_judgement.hpp"
#include "matrix/inquiry/step_judgement.hpp"
#include "matrix/verdict/operator_parting.hpp"
#include "matrix/verdict/snapshot_comparison.hpp"

namespace reprobench {
namespace {

// Of a source that only one side's calls make.
std::string on_one_side(const OperatorRegion& region) {
  const bool is_measured = region.measured.calls.empty();
  const OperatorStretch& stretch = is_measured ? region.measured : region.expected;
  const std::string_view side = kSides[is_measured ? 0 : 1];
  if (!stretch.kept.empty()) return fmt::format("not captured: the {} side makes no value there", side);
  return fmt::format("no call on record makes this value on the {} side: it cannot be judged by itself", side);
}

// The steps among which the first difference arose. Where every tensor is digested it is the differing one, or the one
// before it where the step began with another parameter, which it may have where its tensors are not on record; at
// level `step` all since the state was last seen equal.
std::int64_t first_suspect_step(const ComparedSide& side, const Divergence& first) {
  if (!digests_tensors(side.request.trace)) return first_step_unseen(first.step);
  const bool may_be_of_parameters = first.tensor.empty() || first.role == to_string(TensorRole::parameter);
  return may_be_of_parameters ? std::max<std::int64_t>(1, first.step - 1) : first.step;
}

// Values of so many bytes are kept by the replay that captures tensors; a replay that is killed for more must not take
// the answer about the first difference with it.
constexpr std::int64_t kKeptBesideCaptures = std::int64_t{64} << 20;

// So many sources of a step are shown.
constexpr std::size_t kMostSources = 64;

// One explanation in the making: both sides' replays, and what they have shown so far.
class Explainer {
 public:
  Explainer(const ComparedSide& measured, const ComparedSide& expected, const Divergence& first,
            const ExplainSettings& settings, Replays& replays)
      : measured_(measured), expected_(expected), first_(first), settings_(settings), replays_(replays) {}

  Explanation run(const std::vector<SideDifference>& differences) {
    replay_operators();
    if (!result_.call && !result_.region) compare_states();
    judge_sources();
    judge_behind();
    if (settings_.lockstep_batches > 0) {
      judge_steps({measured_, expected_, settings_}, expected_folder_, start_ - 1, replays_, result_);
    }
    give_headlines(result_);
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
    const auto outcomes = run_both("operators", replay, replay);
    check_reproduced(measured_, outcomes[0]);
    check_reproduced(expected_, outcomes[1]);
    measured_folder_ = outcomes[0].folder;
    expected_folder_ = outcomes[1].folder;
    const OperatorCalls ours = operators_left_in(measured_folder_, start_, first_.step);
    const OperatorCalls theirs = operators_left_in(expected_folder_, start_, first_.step);
    for (std::int64_t step = start_; step <= first_.step; ++step) {
      const auto our_calls = ours.of_step(step);
      const auto their_calls = theirs.of_step(step);
      StepParting parting = partings_of_step(our_calls, their_calls);
      if (parting.sources.empty()) continue;
      take(std::move(parting));
      parted_step_ = step;
      look_at_what_is_kept();
      our_calls_ = our_calls;
      their_calls_ = their_calls;
      if (result_.calls_apart > 0) given_ = calls_to_give(our_calls, their_calls);
      if (result_.call) result_.diverging_operators = diverging_operator_names(our_calls, their_calls);
      return;
    }
  }

  void take(StepParting parting) {
    result_.calls_apart = parting.calls_apart;
    result_.gradient_calls_apart = parting.gradient_calls_apart;
    for (std::size_t i = 0; i < parting.sources.size(); ++i) {
      OperatorParting& source = parting.sources[i];
      if (i == 0 && !parting.begins_apart) {
        result_.call = std::move(source.call);
        result_.region = std::move(source.region);
      } else {
        take_further(std::move(source), false);
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
      OperatorStretch& stretch = region->measured.calls.empty() ? region->measured : region->expected;
      stretch.kept = kept[region->measured.calls.empty() ? 0 : 1];
      stretch.not_on_record = stretch.kept.empty();
    }
    for (FurtherSource& source : result_.further_sources) source.no_budget = not_captured(source);
  }

  // What the measured side leaves as it is in that step and the expected one changes; and the other way round.
  std::array<std::vector<std::string>, 2> kept_states() {
    const auto step_with_states = [&](const std::filesystem::path& folder) {
      Replay replay = parted_step_from(folder);
      replay.snapshots_after = {parted_step_ - 1, parted_step_};
      return replay;
    };
    const auto outcomes = run_both("states", step_with_states(measured_folder_), step_with_states(expected_folder_));
    std::array<std::vector<std::string>, 2> kept;
    std::array<std::map<std::string, bool>, 2> changed;
    for (const std::size_t side : {0, 1}) {
      const auto before = tensors_left_in(outcomes[side].folder, snapshot_file(parted_step_ - 1));
      const auto after = tensors_left_in(outcomes[side].folder, snapshot_file(parted_step_));
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

  void take_further(OperatorParting source, bool on_given_values) {
    if (result_.further_sources.size() == kMostSources) {
      ++result_.sources_left_out;
      return;
    }
    FurtherSource& further = result_.further_sources.emplace_back();
    further.call = std::move(source.call);
    further.region = std::move(source.region);
    further.inputs_agree = source.inputs_agree;
    further.on_given_values = on_given_values;
    further.no_budget = not_captured(further);
  }

  std::vector<ReplayOutcome> run_both(const std::string& what, const Replay& measured, const Replay& expected) {
    return replays_.run({{"a-" + what, measured_.replayed(measured)}, {"b-" + what, expected_.replayed(expected)}});
  }

  // A replay that takes another course than the run shows nothing about the run.
  void check_reproduced(const ComparedSide& side, const ReplayOutcome& outcome) {
    if (same_course(*side.attempt.lead().trace, *outcome.attempt.lead().trace, first_.step)) return;
    result_.not_reproduced.push_back(side.label);
    result_.notes.push_back(
        fmt::format("{}: the replay did not give the run's bits up to step {}: this side is not "
                    "reproducible, and what follows is about the replay",
                    side.label, first_.step));
  }

  // From the state before the difference to the end of the step that makes it.
  Replay parted_step_from(const std::filesystem::path& folder) const {
    Replay replay;
    replay.from_state = folder / snapshot_file(start_ - 1);
    replay.first_step = start_;
    replay.last_step = parted_step_;
    return replay;
  }

  static void capture(const std::vector<OperatorSite>& sites, Replay& replay) {
    replay.capture = sites.front();
    replay.further_captures.assign(sites.begin() + 1, sites.end());
  }

  void record_operators(Replay& replay) const { replay.operators_from = replay.operators_to = parted_step_; }

  static std::string not_captured(const FurtherSource& source) {
    if (!source.inputs_agree) return "its inputs differ already";
    if (!has_both_sides(source)) return on_one_side(*source.region);
    return fmt::format("not captured: a replay captures {} calls and {} MiB at most", kMostCaptures,
                       kMostCaptureBytes >> 20);
  }

  void judge_sources() {
    if (result_.region && !has_both_sides(result_)) result_.no_budget = on_one_side(*result_.region);
    const auto sources = sources_to_capture(result_);
    const bool keeps_values = !given_.calls.empty() && given_.bytes <= kKeptBesideCaptures;
    const auto expected_folder =
        capture_and_judge("tensors", sources, parted_step_from(measured_folder_),
                          keeps_values ? keeping_values() : parted_step_from(expected_folder_));
    if (keeps_values) values_folder_ = expected_folder;
    join_sources(our_calls_, parted_step_from(measured_folder_), false);
  }

  // Captured like their parts: `measured` is that side's replay, of which `our_calls` are on record.
  void join_sources(const std::vector<OperatorRecord>& our_calls, const Replay& measured, bool on_given_values) {
    JointSources found = joint_sources(result_, our_calls, their_calls_, on_given_values);
    std::vector<DifferenceSource*> sources;
    for (FurtherSource& joint : found.joints) {
      if (sources.size() < kMostCaptures) sources.push_back(&joint);
    }
    try {
      capture_and_judge(on_given_values ? "joint-behind" : "joint", sources, measured,
                        parted_step_from(expected_folder_));
    } catch (const ReplayFailed& failure) {
      result_.notes.push_back(fmt::format("what calls that differ make together is not known: {}", failure.what()));
      return;
    }
    settle(std::move(found), result_);
  }

  // The replays are those in which the two sides capture; returns the folder of the expected side's.
  std::filesystem::path capture_and_judge(const std::string& what, const std::vector<DifferenceSource*>& sources,
                                          Replay measured, Replay expected) {
    if (sources.empty()) return {};
    const SideCaptures ours(SideCaptures::Side::measured, sources);
    const SideCaptures theirs(SideCaptures::Side::expected, sources);
    capture(ours.sites(), measured);
    capture(theirs.sites(), expected);
    const auto outcomes = run_both(what, measured, expected);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      judge_captured(*sources[i], i, {ours, outcomes[0].folder}, {theirs, outcomes[1].folder});
    }
    return outcomes[1].folder;
  }

  struct CapturedSide {
    const SideCaptures& captures;
    const std::filesystem::path& folder;
  };

  void judge_captured(DifferenceSource& source, std::size_t number, CapturedSide ours, CapturedSide theirs) {
    source.no_budget = captured_otherwise(measured_.label, ours.captures.captured_otherwise(number, ours.folder));
    if (source.no_budget.empty()) {
      source.no_budget = captured_otherwise(expected_.label, theirs.captures.captured_otherwise(number, theirs.folder));
    }
    source.is_captured_otherwise = !source.no_budget.empty();
    if (source.is_captured_otherwise) return;
    const std::string file = operator_tensors_file(number);
    judge_source(source, measured_.request, expected_.request, tensors_left_in(ours.folder, file),
                 tensors_left_in(theirs.folder, file), result_.notes);
    if (source.call) return;
    judge_module(source, ours.captures.judged_module(number, measured_.request, ours.folder),
                 theirs.captures.judged_module(number, expected_.request, theirs.folder));
  }

  // Calls that take differing values, on those that the expected side's took (given_values.hpp).
  void judge_behind() {
    if (given_.calls.empty()) return;
    if (given_.bytes > kMostGivenBytes) {
      result_.notes.push_back(
          fmt::format("calls that take values which differ already were not judged: the values of "
                      "the expected side that they would take are more than {} MiB",
                      kMostGivenBytes >> 20));
      return;
    }
    try {
      const Replay given = on_given_values();
      const auto outcome = replays_.run({{"a-given", measured_.replayed(given)}}).front();
      const auto our_calls = operators_left_in(outcome.folder, parted_step_, parted_step_).of_step(parted_step_);
      StepParting parting = partings_of_step(our_calls, their_calls_);
      for (OperatorParting& source : not_known_yet(std::move(parting.sources), result_)) {
        take_further(std::move(source), true);
      }
      capture_and_judge("behind", sources_to_capture(result_, true), given, parted_step_from(expected_folder_));
      join_sources(our_calls, given, true);
      result_.calls_apart = parting.calls_apart;
      result_.gradient_calls_apart = parting.gradient_calls_apart;
    } catch (const ReplayFailed& failure) {
      result_.notes.push_back(
          fmt::format("calls that take values which differ already were not all judged: {}", failure.what()));
    }
  }

  // The measured side's replay of that step, with the values that one of the expected side has kept for it.
  Replay on_given_values() {
    if (values_folder_.empty()) {
      values_folder_ = replays_.run({{"b-values", expected_.replayed(keeping_values())}}).front().folder;
    }
    Replay given = parted_step_from(measured_folder_);
    record_operators(given);
    given.given_values = GivenValues{values_folder_ / kValuesFile, parted_step_, given_.calls};
    return given;
  }

  Replay keeping_values() const {
    Replay keeping = parted_step_from(expected_folder_);
    record_operators(keeping);
    keeping.keep_values = KeptValues{parted_step_, given_.digests};
    return keeping;
  }

  // Judged by values of another course, a difference would get a word that is not about it.
  static std::string captured_otherwise(const std::string& label, const std::string& problem) {
    if (problem.empty()) return "";
    return fmt::format("{}: {}: this side is not reproducible, and nothing is judged by what it captured", label,
                       problem);
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
  std::int64_t parted_step_ = 0;           // in which a source was found
  std::vector<OperatorRecord> our_calls_;  // of that step
  std::vector<OperatorRecord> their_calls_;
  GivenCalls given_;
  std::filesystem::path measured_folder_;
  std::filesystem::path expected_folder_;
  std::filesystem::path values_folder_;  // where the expected side's values lie; empty: not kept yet
  Explanation result_;
};

}  // namespace

Explanation explain_difference(const ComparedSide& measured, const ComparedSide& expected, const Divergence& first,
                               const std::vector<SideDifference>& differences, const ExplainSettings& settings,
                               Replays& replays) {
  return Explainer(measured, expected, first, settings, replays).run(differences);
}

}  // namespace reprobench
