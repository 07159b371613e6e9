#include "matrix/inquiry/explain/resumed_course.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "matrix/evidence/trace_chain.hpp"
#include "matrix/inquiry/explain/replay_files.hpp"
#include "matrix/inquiry/explain/source_diagnosis.hpp"
#include "matrix/inquiry/explain/source_judgement.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {
namespace {

const Trace& trace_of(const AttemptRecord& attempt) { return *attempt.lead().trace; }

// The first step of `again` up to `last` after which it has other bits than the run; nothing: none has.
std::optional<std::int64_t> first_other_step(const ComparedSide& side, const ReplayOutcome& again, std::int64_t from,
                                             std::int64_t last) {
  if (same_course(trace_of(side.attempt), trace_of(again.attempt), last)) return std::nullopt;
  for (std::int64_t step = from; step < last; ++step) {
    if (!same_course(trace_of(side.attempt), trace_of(again.attempt), step)) return step;
  }
  return last;
}

// The first source of a difference between what two processes of one side call in these steps.
std::optional<FurtherSource> first_source(const OperatorCalls& ours, const OperatorCalls& theirs, std::int64_t from,
                                          std::int64_t to) {
  for (std::int64_t step = from; step <= to; ++step) {
    StepDivergence divergence = divergence_of_step(ours.of_step(step), theirs.of_step(step));
    if (divergence.sources.empty()) continue;
    FurtherSource source;
    source.call = std::move(divergence.sources.front().call);
    source.region = std::move(divergence.sources.front().region);
    return source;
  }
  return std::nullopt;
}

std::string unrepeated(std::string_view side, std::string_view doing) {
  return fmt::format("the {} side does not repeat itself: {}, it has other bits than in the run from here on", side,
                     doing);
}

}  // namespace

ResumedCourse::ResumedCourse(const ComparedSide& measured, const ComparedSide& expected,
                             const std::vector<std::int64_t>& steps, Replays& replays)
    : sides_{&measured, &expected}, last_(steps.back()), half_way_(last_ / 2), replays_(replays) {
  Replay ours;
  ours.last_step = last_;
  ours.snapshots_after = {half_way_};
  Replay theirs = ours;
  std::set<std::int64_t> states{half_way_};
  for (const std::int64_t step : steps) states.insert(step - 1);
  theirs.snapshots_after.assign(states.begin(), states.end());
  whole_ = run_both("later-states", ours, theirs);
}

std::vector<ReplayOutcome> ResumedCourse::run_both(const std::string& purpose, const Replay& measured,
                                                   const Replay& expected) {
  return replays_.run(
      {{"a-" + purpose, sides_[0]->replayed(measured)}, {"b-" + purpose, sides_[1]->replayed(expected)}});
}

std::filesystem::path ResumedCourse::state_before(std::int64_t step) const {
  return whole_[1].folder / snapshot_file(step - 1);
}

Replay ResumedCourse::second_half(std::size_t side) const {
  Replay replay;
  replay.from_state = whole_[side].folder / snapshot_file(half_way_);
  replay.first_step = half_way_ + 1;
  replay.last_step = last_;
  return replay;
}

// Calls of the update before that step make the weights with which it begins.
LaterStep ResumedCourse::by_age(std::size_t side, std::int64_t step) {
  Replay fresh = second_half(side);
  fresh.last_step = step;
  fresh.operators_from = std::max(step - 1, fresh.first_step);
  fresh.operators_to = step;
  Replay old = fresh;
  old.from_state.clear();
  old.first_step = 1;
  const auto outcomes =
      replays_.run({{"old-process", sides_[side]->replayed(old)}, {"fresh-process", sides_[side]->replayed(fresh)}});
  const auto source =
      first_source(operators_left_in(outcomes[0].folder, fresh.operators_from, step),
                   operators_left_in(outcomes[1].folder, fresh.operators_from, step), fresh.operators_from, step);
  LaterStep found{step, ExplainedWord::undecided,
                  fmt::format("resumed after step {} in a fresh process, the {} side has other bits than in the run "
                              "from here on: what it computes depends on what its process did before",
                              half_way_, kSides[side])};
  if (!source) {
    found.is_unrepeated = !first_other_step(*sides_[side], outcomes[1], fresh.first_step, step);
    if (found.is_unrepeated) found.sentence = unrepeated(kSides[side], fmt::format("resumed after step {}", half_way_));
    return found;
  }
  found.sentence += fmt::format("; {} is the first call with another result", operator_of(*source));
  if (const std::string other = other_computation(*source); !other.empty()) {
    found.word = ExplainedWord::another_computation;
    found.sentence += ": " + other;
  }
  return found;
}

std::vector<LaterStep> ResumedCourse::differences() {
  const auto resumed = run_both("resumed", second_half(0), second_half(1));
  std::vector<LaterStep> found;
  for (const std::size_t side : {0, 1}) {
    if (const auto step = first_other_step(*sides_[side], whole_[side], 1, last_)) {
      found.push_back({*step, ExplainedWord::undecided, unrepeated(kSides[side], "trained again"), true});
    } else if (const auto later = first_other_step(*sides_[side], resumed[side], half_way_ + 1, last_)) {
      found.push_back(by_age(side, *later));
    }
  }
  return found;
}

}  // namespace reprobench
