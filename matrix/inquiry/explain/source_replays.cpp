#include "matrix/inquiry/explain/source_replays.hpp"

#include <utility>

#include <fmt/format.h>

#include "matrix/inquiry/explain/joint_sources.hpp"
#include "matrix/inquiry/explain/replay_files.hpp"
#include "matrix/inquiry/explain/source_judgement.hpp"

namespace reprobench {
namespace {

// Values of so many bytes are kept by the replay that captures tensors; a replay that is killed for more must not take
// the answer about the first difference with it.
constexpr std::int64_t kKeptBesideCaptures = std::int64_t{64} << 20;

// So many sources of a step are shown.
constexpr std::size_t kMostSources = 64;

// Of a source that only one side's calls make.
std::string on_one_side(const OperatorRegion& region) {
  const bool is_measured = region.measured.calls.empty();
  const OperatorSubgraph& subgraph = is_measured ? region.measured : region.expected;
  const std::string_view side = kSides[is_measured ? 0 : 1];
  if (!subgraph.kept.empty()) return fmt::format("not captured: the {} side makes no value there", side);
  return fmt::format("no call on record makes this value on the {} side: it cannot be judged by itself", side);
}

void capture(const std::vector<OperatorSite>& sites, Replay& replay) {
  replay.capture = sites.front();
  replay.further_captures.assign(sites.begin() + 1, sites.end());
}

void record_operators(std::int64_t step, Replay& replay) { replay.operators_from = replay.operators_to = step; }

// Judged by values of another course, a difference would get a word that is not about it.
std::string captured_otherwise(const std::string& label, const std::string& problem) {
  if (problem.empty()) return "";
  return fmt::format("{} does not repeat itself: {}, and nothing is judged by what it captured", label, problem);
}

}  // namespace

std::vector<ReplayOutcome> SourceReplays::run_both(const std::string& purpose, const Replay& measured,
                                                   const Replay& expected) {
  return replays_.run(
      {{"a-" + purpose + what_, measured_.replayed(measured)}, {"b-" + purpose + what_, expected_.replayed(expected)}});
}

void SourceReplays::begin(ReplayedStep step) {
  step_ = std::move(step);
  values_folder_.clear();
  substituted_ = result_.calls_apart > 0 ? calls_to_substitute(step_.measured, step_.expected) : SubstitutedCalls{};
}

Replay SourceReplays::step_of(Side side) const {
  Replay replay;
  replay.from_state = step_.states[side == Side::measured ? 0 : 1];
  replay.first_step = step_.first;
  replay.last_step = step_.step;
  return replay;
}

void SourceReplays::take_further(DivergencePoint source, bool on_substituted_inputs) {
  if (result_.further_sources.size() == kMostSources) {
    ++result_.sources_left_out;
    return;
  }
  FurtherSource& further = result_.further_sources.emplace_back();
  further.call = std::move(source.call);
  further.region = std::move(source.region);
  further.inputs_agree = source.inputs_agree;
  further.on_substituted_inputs = on_substituted_inputs;
  further.no_budget = not_captured(further);
}

std::string SourceReplays::not_captured(const FurtherSource& source) {
  if (!source.inputs_agree) return "its inputs differ already";
  if (!has_both_sides(source)) return on_one_side(*source.region);
  return fmt::format("not captured: a replay captures {} calls and {} MiB at most", kMostCaptures,
                     kMostCaptureBytes >> 20);
}

void SourceReplays::judge_sources() {
  if (result_.region && !has_both_sides(result_)) result_.no_budget = on_one_side(*result_.region);
  const auto sources = sources_to_capture(result_, false, looks_);
  const bool keeps_values = !substituted_.calls.empty() && substituted_.bytes <= kKeptBesideCaptures;
  const auto expected_folder = capture_and_judge("tensors", sources, step_of(Side::measured),
                                                 keeps_values ? keeping_values() : step_of(Side::expected));
  if (keeps_values) values_folder_ = expected_folder;
  join_sources("joint", step_.measured, step_of(Side::measured), FoundIn::plain_replay);
}

// Captured like their parts: `measured` is that side's replay, of which `our_calls` are on record.
void SourceReplays::join_sources(const std::string& purpose, const std::vector<OperatorRecord>& our_calls,
                                 const Replay& measured, FoundIn found_in) {
  JointSources found = joint_sources(result_, our_calls, step_.expected, found_in);
  std::vector<DifferenceSource*> sources;
  std::vector<std::size_t> judged_by_itself;
  for (const bool is_first : {true, false}) {  // of those that are alike
    for (std::size_t i = 0; i < found.joints.size(); ++i) {
      if ((found.alike[i] == i) != is_first) continue;
      found.joints[i].no_budget = not_captured(found.joints[i]);
      if (sources.size() == kMostCaptures) continue;
      sources.push_back(&found.joints[i]);
      judged_by_itself.push_back(i);
    }
  }
  try {
    capture_and_judge(purpose, sources, measured, step_of(Side::expected));
  } catch (const ReplayFailed& failure) {
    result_.notes.push_back(fmt::format("what calls that differ make together is not known: {}", failure.what()));
    return;
  }
  for (const std::size_t i : judged_by_itself) found.alike[i] = i;
  settle(std::move(found), result_);
}

// The replays are those in which the two sides capture; returns the folder of the expected side's.
std::filesystem::path SourceReplays::capture_and_judge(const std::string& purpose,
                                                       const std::vector<DifferenceSource*>& sources, Replay measured,
                                                       Replay expected) {
  if (sources.empty()) return {};
  const SideCaptures ours(SideCaptures::Side::measured, sources);
  const SideCaptures theirs(SideCaptures::Side::expected, sources);
  capture(ours.sites(), measured);
  capture(theirs.sites(), expected);
  const auto outcomes = run_both(purpose, measured, expected);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    judge_captured(*sources[i], i, {ours, outcomes[0].folder}, {theirs, outcomes[1].folder});
  }
  return outcomes[1].folder;
}

void SourceReplays::judge_captured(DifferenceSource& source, std::size_t number, CapturedSide ours,
                                   CapturedSide theirs) {
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

// Calls that take differing values, on those that the expected side's took (substituted_inputs.hpp).
void SourceReplays::judge_behind(const std::function<bool(const DivergencePoint&)>& is_known) {
  if (substituted_.calls.empty()) return;
  if (substituted_.bytes > kMostSubstitutedBytes) {
    result_.notes.push_back(
        fmt::format("calls that take values which differ already were not judged: the values of "
                    "the expected side that they would take are more than {} MiB",
                    kMostSubstitutedBytes >> 20));
    return;
  }
  try {
    const Replay substituted = on_substituted_inputs();
    const auto outcome = replays_.run({{"a-given" + what_, measured_.replayed(substituted)}}).front();
    const auto our_calls = operators_left_in(outcome.folder, step_.step, step_.step).of_step(step_.step);
    StepDivergence divergence = divergence_of_step(our_calls, step_.expected);
    from_outside_ = divergence.from_outside;
    if (is_known) std::erase_if(divergence.sources, is_known);
    for (DivergencePoint& source : not_known_yet(std::move(divergence.sources), result_)) {
      take_further(std::move(source), true);
    }
    capture_and_judge("behind", sources_to_capture(result_, true, looks_), substituted, step_of(Side::expected));
    join_sources("joint-behind", our_calls, substituted, FoundIn::substituted_replay);
    join_on_own_values(substituted);
    result_.calls_apart = divergence.calls_apart;
    result_.gradient_calls_apart = divergence.gradient_calls_apart;
  } catch (const ReplayFailed& failure) {
    result_.notes.push_back(
        fmt::format("calls that take values which differ already were not all judged: {}", failure.what()));
  }
}

// Where subgraphs still ask for something else, calls behind them keep their own results. Then two places that make up
// for each other with such a call in between are within one subgraph.
void SourceReplays::join_on_own_values(Replay substituted) {
  if (!has_other_questions(result_)) return;
  const auto own = calls_behind_one_side(step_.measured, step_.expected);
  if (own.empty()) return;
  substituted.substituted_inputs->calls = calls_to_substitute(step_.measured, step_.expected, own).calls;
  const auto outcome = replays_.run({{"a-own" + what_, measured_.replayed(substituted)}}).front();
  const auto our_calls = operators_left_in(outcome.folder, step_.step, step_.step).of_step(step_.step);
  drop_equal_on_own_values(our_calls, result_);
  join_sources("joint-own", our_calls, substituted, FoundIn::any_replay);
}

// The measured side's replay of that step, with the values that one of the expected side has kept for it.
Replay SourceReplays::on_substituted_inputs() {
  if (values_folder_.empty()) {
    values_folder_ = replays_.run({{"b-values" + what_, expected_.replayed(keeping_values())}}).front().folder;
  }
  Replay substituted = step_of(Side::measured);
  record_operators(step_.step, substituted);
  substituted.substituted_inputs = SubstitutedInputs{values_folder_ / kValuesFile, step_.step, substituted_.calls};
  return substituted;
}

Replay SourceReplays::keeping_values() const {
  Replay keeping = step_of(Side::expected);
  record_operators(step_.step, keeping);
  keeping.keep_values = KeptValues{step_.step, substituted_.digests};
  return keeping;
}

}  // namespace reprobench
