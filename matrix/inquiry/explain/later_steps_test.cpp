// What begins behind a first difference that is rounding.
#include "matrix/inquiry/explain/later_steps.hpp"

#include "ci/catch.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"
#include "matrix/inquiry/explain/source_diagnosis.hpp"
#include "matrix/inquiry/pair_inquiry.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

// From the first step on a product is summed in another order.
const Deviation kOtherOrder{"forward fc1 aten::addmm", 1, kForever, 0};

CellComparison compared_later(ScriptedReplays& replays, const std::vector<Deviation>& deviations, int later = 2) {
  replays.stacks["stack-b"] = {kOtherOrder};
  for (const Deviation& deviation : deviations) replays.stacks["stack-b"].push_back(deviation);
  ExplainSettings settings = explained(8);
  settings.later_steps = later;
  return compare_stacks(replays, settings);
}

TEST_CASE("where nothing but the first difference goes on, the later steps say so", "[later]") {
  ScriptedReplays replays;
  const auto comparison = compared_later(replays, {});
  const Explanation& found = *comparison.explanation;
  CHECK(found.diagnosis->word == ExplainedWord::rounding);
  REQUIRE(found.later_steps.size() == 2);
  CHECK(found.later_steps[0].step > 1);
  CHECK(found.later_steps[1].step == 6);
  for (const LaterStep& later : found.later_steps) CHECK(later.word == ExplainedWord::rounding);
  CHECK(found.later_steps[1].sentence == "no source that the first difference did not show");
}

TEST_CASE("a defect that begins later behind a harmless difference is named with its call and its step", "[later]") {
  ScriptedReplays replays;
  const Deviation defect = GENERATE(Deviation{"backward act aten::threshold_backward", 5, kForever, -1, times(1.01)},
                                    Deviation{"optimizer fc2.weight aten::lerp_", 5, kForever, -1, times(1.01)},
                                    Deviation{"forward act aten::relu", 6, kForever, -1, times(1.01)});
  CAPTURE(defect.site);
  const auto comparison = compared_later(replays, {defect});
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.diagnosis);
  CHECK(found.diagnosis->word == ExplainedWord::defect);
  CHECK(has(found.diagnosis->sentence, "behind the first difference, in step "));
  CHECK(has(found.diagnosis->sentence, defect.site.substr(defect.site.find("aten::"))));
  CHECK(has(found.diagnosis->sentence, "the first one by itself: "));
  CHECK(judged_by(comparison, FailOn::defect) == Match::differs);
}

TEST_CASE("behind a later step that is red no further one is judged", "[later]") {
  ScriptedReplays replays;
  const auto comparison =
      compared_later(replays, {{"constants optimizer fc1.weight aten::lerp_", 2, kForever, 0, becomes(2)}});
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.later_steps.size() == 1);
  CHECK(found.later_steps[0].step < 6);
  CHECK(found.later_steps[0].word == ExplainedWord::another_computation);
}

TEST_CASE("another constant from a later step on is another computation", "[later]") {
  ScriptedReplays replays;
  const auto comparison =
      compared_later(replays, {{"constants optimizer fc1.weight aten::lerp_", 5, kForever, 0, becomes(2)}});
  const Explanation& found = *comparison.explanation;
  CHECK(found.diagnosis->word == ExplainedWord::another_computation);
  CHECK(has(found.diagnosis->sentence, "the constants of aten::lerp_ differ: 2 against 1"));
}

// fc2's update takes half of twice the moment, which is rounded otherwise besides.
TEST_CASE("two places that make up for each other from a later step on are rounding, and half as well are not",
          "[later]") {
  const double factor = GENERATE(1.0, 1 + 0x1p-20);
  ScriptedReplays replays;
  const std::vector<Deviation> deviations = {
      {"optimizer fc2.weight aten::lerp_", 1, kForever, 0},
      {"doubled fc2.weight", 3, kForever, 0, times(factor)},
      {"constants optimizer fc2.weight aten::addcdiv_", 3, kForever, 0, becomes(0.05)}};
  const auto comparison = compared_later(replays, deviations);
  const Explanation& found = *comparison.explanation;
  REQUIRE_FALSE(found.later_steps.empty());
  const bool is_the_same = factor == 1;
  CAPTURE(found.diagnosis->sentence);
  CHECK(found.diagnosis->word == (is_the_same ? ExplainedWord::rounding : ExplainedWord::another_computation));
}

TEST_CASE("a state that something changes between operators of a later step is another computation", "[later]") {
  ScriptedReplays replays;
  const auto comparison = compared_later(replays, {{"parameter fc2.weight", 6, 6, 1, times(-1)}});
  const Explanation& found = *comparison.explanation;
  CHECK(found.diagnosis->word == ExplainedWord::another_computation);
  CHECK(has(found.diagnosis->sentence,
            "in step 6: both sides begin from one state, and aten::addmm (forward of `fc2`) "
            "takes another value that no call of the step made"));
}

TEST_CASE("another batch, and an update left out, are told from the traces alone", "[later]") {
  ScriptedReplays replays;
  const auto comparison = compared_later(replays, {{"input", 4, 4, 3, times(2)}});
  const Explanation& found = *comparison.explanation;
  for (const LaterStep& later : found.later_steps)
    UNSCOPED_INFO(later.step << " " << to_string(later.word) << " " << later.sentence);
  REQUIRE(found.later_steps.size() == 1);
  CHECK(found.later_steps[0].step == 4);
  CHECK(found.diagnosis->word == ExplainedWord::another_computation);
  CHECK(has(found.diagnosis->sentence, "in step 4: the two sides take different batches: input `x`"));
  for (const auto& tasks : replays.calls) CHECK(tasks[0].purpose != "a-later-states");
}

TensorsRecord parameters_of(std::int64_t step, const std::string& digest, bool is_final = false) {
  TensorsRecord record{step, is_final, {}};
  record.tensors.push_back({"w", TensorRole::parameter, "float32", {2}, digest, {}});
  return record;
}

TEST_CASE("a step after which one side alone has the parameters it had before leaves out the update", "[later]") {
  const auto trace = [](const std::vector<std::string>& digests) {
    Trace of;
    for (std::size_t i = 0; i + 1 < digests.size(); ++i) {
      const auto step = static_cast<std::int64_t>(i + 1);
      of.steps.emplace_back().step = step;
      of.tensors.push_back(parameters_of(step, digests[i]));
    }
    of.tensors.push_back(parameters_of(static_cast<std::int64_t>(digests.size() - 1), digests.back(), true));
    return of;
  };
  const Trace expected = trace({"a", "b", "c", "d"});
  CHECK(later_courses(trace({"a", "b'", "c'", "d'"}), expected, 1).empty());
  const auto found = later_courses(trace({"a", "b'", "b'", "d'"}), expected, 1);
  REQUIRE(found.size() == 1);
  CHECK(found[0].step == 2);
  CHECK(found[0].sentence == "the measured side updates no parameter, and the other one does");
  const auto at_the_end = later_courses(expected, trace({"a", "b'", "c'", "c'"}), 1);
  REQUIRE(at_the_end.size() == 1);
  CHECK(at_the_end[0].step == 3);
  CHECK(at_the_end[0].sentence == "the expected side updates no parameter, and the other one does");
  CHECK(later_courses(trace({"a", "b'", "b'", "d'"}), trace({"a", "b", "b", "d"}), 1).empty());
  CHECK(later_courses(trace({"a", "b'", "b'", "d'"}), expected, 2).empty());
}

TEST_CASE("a parameter that one side alone leaves as it is to the end is told, a single update that rounds away not",
          "[later]") {
  const auto trace = [](const std::vector<std::string>& stuck, const std::string& mark) {
    Trace of;
    for (std::size_t i = 0; i < stuck.size(); ++i) {
      const bool is_final = i + 1 == stuck.size();
      const auto step = static_cast<std::int64_t>(is_final ? i : i + 1);
      if (!is_final) of.steps.emplace_back().step = step;
      TensorsRecord record = parameters_of(step, mark + std::to_string(i), is_final);
      record.tensors.push_back({"stuck", TensorRole::parameter, "float32", {2}, stuck[i], {}});
      of.tensors.push_back(record);
    }
    return of;
  };
  const Trace expected = trace({"a", "b", "c", "d", "e"}, "w");
  const Trace measured = trace({"a", "b'", "c'", "c'", "c'"}, "v");
  const auto found = later_courses(measured, expected, 1);
  REQUIRE(found.size() == 1);
  CHECK(found[0].step == 3);
  CHECK(found[0].sentence == "from here on the measured side leaves `stuck` as it is, and the other one does not");
  REQUIRE(later_courses(expected, measured, 1).size() == 1);
  CHECK(later_courses(expected, measured, 1)[0].sentence.starts_with("from here on the expected side"));
  CHECK(later_courses(trace({"a", "b'", "c'", "d'", "d'"}, "v"), expected, 1).empty());
  CHECK(later_courses(measured, trace({"a", "b", "c", "c", "e"}, "w"), 1).empty());
  CHECK(later_courses(measured, expected, 4).empty());
}

TEST_CASE("the steps that are judged are the last, where distances leave their bound, where losses split and half way",
          "[later]") {
  using Steps = std::vector<std::int64_t>;
  CellComparison comparison;
  CHECK(later_steps(comparison, 4).empty());
  comparison.trace.steps_compared = 20;
  comparison.trace.first = Divergence{};
  comparison.trace.first->step = 2;
  CHECK(later_steps(comparison, 2) == Steps{11, 20});
  CHECK(later_steps(comparison, 1) == Steps{20});
  CHECK(later_steps(comparison, 0).empty());
  comparison.over_bound.emplace().step = 7;
  comparison.split.emplace().step = 9;
  CHECK(later_steps(comparison, 2) == Steps{7, 20});
  CHECK(later_steps(comparison, 4) == Steps{7, 9, 11, 20});
  comparison.over_bound->step = 2;  // the first difference itself
  CHECK(later_steps(comparison, 2) == Steps{9, 20});
  comparison.trace.first->step = 20;
  CHECK(later_steps(comparison, 2).empty());
  comparison.trace.first->step = 2;
  comparison.trace.steps_compared = 5000;
  CHECK(later_steps(comparison, 1) == Steps{1000});
}

TEST_CASE("what is red at once is not looked for again, and a later replay that fails leaves it open", "[later]") {
  ScriptedReplays replays;
  const auto red = compared_later(replays, {{"optimizer fc2.weight aten::lerp_", 1, kForever, 1, times(1.01)}});
  CHECK(red.explanation->diagnosis->word == ExplainedWord::defect);
  CHECK(red.explanation->later_steps.empty());
  ScriptedReplays failing;
  failing.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == "b-operators-6") outcome.attempt.end = AttemptEnd::crash;
  };
  const auto open = compared_later(failing, {});
  const Explanation& found = *open.explanation;
  CHECK(found.later_steps.back().word == ExplainedWord::undecided);
  CHECK(found.diagnosis->word == ExplainedWord::undecided);
  CHECK(has(found.diagnosis->sentence, "in step 6: not judged: replay `b-operators-6` on stack-a ended as crash"));
  CHECK(judged_by(open, FailOn::defect) == Match::not_comparable);
}

// The moment that a fault sets in is counted from the start of a process, or it spares the first step of each.
const Deviation kRoundsLater{"optimizer fc2.weight aten::lerp_", 4, kForever, 0};

CellComparison compared_by_age(const std::string& faulty, const std::function<bool(const CellRequest&)>& has_fault,
                               const std::vector<Deviation>& faults = {kRoundsLater}) {
  ScriptedReplays replays;
  replays.planted = [&](const CellRequest& request) {
    return request.stack == faulty && has_fault(request) ? faults : std::vector<Deviation>{};
  };
  return compared_later(replays, {});
}

bool begins_at_start(const CellRequest& request) { return !request.replay || request.replay->from_state.empty(); }

TEST_CASE("a fault that needs an old process is never rounding, whichever side has it", "[later]") {
  const bool is_measured = GENERATE(true, false);
  const auto comparison = compared_by_age(is_measured ? "stack-b" : "stack-a", begins_at_start);
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.later_steps.size() == 3);
  CHECK(found.later_steps[2].step == 4);
  CHECK(found.later_steps[2].word == ExplainedWord::undecided);
  CHECK(found.diagnosis->word == ExplainedWord::undecided);
  const std::string side = is_measured ? "measured" : "expected";
  CHECK(has(found.diagnosis->sentence, "in step 4: resumed after step 3 in a fresh process, the " + side +
                                           " side has other bits than in the run from here on"));
  CHECK(has(found.diagnosis->sentence, "; aten::lerp_ is the first call with another result; the first one by itself"));
  CHECK(repeats_itself(found));  // each old process does the same
  CHECK(judged_by(comparison, FailOn::defect) == Match::not_comparable);
}

TEST_CASE("another constant from some update of a process on is another computation, whichever side has it",
          "[later]") {
  const Deviation constant{"constants optimizer fc2.weight aten::lerp_", 4, kForever, 0, becomes(2)};
  const auto comparison = compared_by_age(GENERATE("stack-b", "stack-a"), begins_at_start, {kRoundsLater, constant});
  const Explanation& found = *comparison.explanation;
  CHECK(found.diagnosis->word == ExplainedWord::another_computation);
  CHECK(has(found.diagnosis->sentence, "in step 4: resumed after step 3"));
  CHECK(has(found.diagnosis->sentence,
            "aten::lerp_ is the first call with another result: the constants of aten::lerp_ "
            "differ: 2 against 1"));
}

TEST_CASE("calls that an old process alone makes are named", "[later]") {
  const auto comparison = compared_by_age("stack-b", begins_at_start, {{"decomposed act", 5}});
  const Explanation& found = *comparison.explanation;
  CHECK(found.diagnosis->word == ExplainedWord::undecided);
  CHECK(has(found.diagnosis->sentence,
            "what its process did before; aten::clamp_min is the first call with another result"));
}

TEST_CASE("a fault that only a fresh process of several steps has is not rounding either", "[later]") {
  const auto comparison = compared_by_age("stack-b", [](const CellRequest& request) {
    return !begins_at_start(request) && last_step_of(request) > first_step_of(request);
  });
  CHECK(comparison.explanation->diagnosis->word == ExplainedWord::undecided);
}

TEST_CASE("one resumed process of two with other bits is a side that does not repeat itself", "[later]") {
  int resumed = 0;
  const auto comparison =
      compared_by_age("stack-b",
                      [&](const CellRequest& request) {
                        return first_step_of(request) == 4 && last_step_of(request) == 6 && resumed++ == 0;
                      },
                      {{"optimizer fc2.weight aten::lerp_", 4, kForever}});
  const Explanation& found = *comparison.explanation;
  CHECK(found.diagnosis->word == ExplainedWord::undecided);
  CHECK(has(found.diagnosis->sentence,
            "in step 4: the measured side does not repeat itself: resumed after step 3, it has other bits"));
  CHECK_FALSE(repeats_itself(found));
}

TEST_CASE("a training that has other bits when it is done again does not repeat itself", "[later]") {
  int trainings =
      0;  // the side's run, its replay up to the first difference, and the one that later steps are taken from
  const auto comparison = compared_by_age("stack-b", [&](const CellRequest& request) {
    return begins_at_start(request) && last_step_of(request) == 6 && ++trainings > 1;
  });
  const Explanation& found = *comparison.explanation;
  CHECK(found.diagnosis->word == ExplainedWord::undecided);
  CHECK(has(found.diagnosis->sentence,
            "in step 4: the measured side does not repeat itself: trained again, it has other bits "));
  CHECK_FALSE(repeats_itself(found));
}

}  // namespace
}  // namespace reprobench
