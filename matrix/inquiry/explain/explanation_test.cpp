#include "matrix/inquiry/explain/explanation.hpp"

#include <functional>

#include "ci/catch.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"
#include "matrix/inquiry/explain/source_diagnosis.hpp"

namespace reprobench {
namespace {

TEST_CASE("two sides of equal bits are equal, and nothing is replayed", "[explanation]") {
  ScriptedReplays replays;
  const auto comparison = compare_stacks(replays, explained());
  CHECK(comparison.word == Match::equal);
  CHECK(comparison.sentence == "equal bits in all that 6 steps digested");
  CHECK(replays.calls.empty());
}

TEST_CASE("a difference in a forward output is followed to step, operator, element and ULP", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  const auto comparison = compare_stacks(replays, explained());
  CHECK(comparison.word == Match::differs);
  CHECK(comparison.trace.first->step == 4);
  CHECK(comparison.trace.first->tensor == "fc2");
  CHECK(comparison.trace.steps_differing == 1);  // the gradients round it away
  REQUIRE(comparison.explanation);
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.call);
  CHECK(found.call->measured.name == "aten::addmm");
  CHECK(found.call->measured.module == "fc2");
  CHECK(found.call->measured.step == 4);
  CHECK(found.call->calls_compared == 2);
  CHECK_FALSE(found.call->constants_differ);
  CHECK(found.diverging_operators == std::vector<std::string>{"aten::addmm"});
  REQUIRE(found.element);
  CHECK(found.element->tensor == "output 0 of aten::addmm");
  CHECK(found.element->differing == 1);
  CHECK(found.element->index == 7);
  CHECK(found.element->ulp == 1);
  CHECK(found.element->measured_bits > found.element->expected_bits);
  REQUIRE(found.budget);
  CHECK(found.budget->expected_error_rel > 0);
  CHECK(found.budget->measured_error_rel != found.budget->expected_error_rel);
  CHECK(found.budget->distance_rel < 1e-6);
  CHECK(found.budget->amplification == 1.5);
  CHECK_FALSE(found.lockstep);
  CHECK(found.notes.empty());
  CHECK(comparison.sentence ==
        "equal bits up to step 3; first difference in step 4, forward_output `fc2`; aten::addmm (forward of `fc2`) "
        "made it "
        "out of equal inputs; undecided: what is on record of aten::addmm does not give its bound; suspect: "
        "torch");
}

TEST_CASE("each side is replayed up to the difference, and the call captured from its own state", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  compare_stacks(replays, explained());
  REQUIRE(replays.calls.size() == 3);  // the last gives values to what is behind
  for (const ReplayTask& task : replays.calls[0]) {
    CHECK(task.request.replay->from_state.empty());
    CHECK(task.request.replay->last_step == 4);
    CHECK(task.request.replay->operators_from == 4);
    CHECK(task.request.replay->operators_to == 4);
    CHECK(task.request.replay->snapshots_after == std::vector<std::int64_t>{3, 4});
  }
  const char* sides[] = {"a", "b"};
  for (std::size_t i = 0; i < 2; ++i) {
    const Replay& capture = *replays.calls[1][i].request.replay;
    CHECK(has(capture.from_state, fmt::format("{}-operators/state-3.safetensors", sides[i])));
    CHECK(replays.calls[1][i].request.stack == (i == 0 ? "stack-b" : "stack-a"));
    CHECK(capture.first_step == 4);
    CHECK(capture.last_step == 4);
    CHECK(capture.capture->step == 4);
    CHECK(capture.capture->index == 2);
  }
}

TEST_CASE("a difference that only an update made is looked for in the step before", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"optimizer fc1.weight aten::addcdiv_", 3, 3, 5}};
  const auto comparison = compare_stacks(replays, explained(2));
  CHECK(comparison.trace.first->step == 4);
  CHECK(comparison.trace.first->role == "parameter");
  REQUIRE(comparison.explanation);
  CHECK(comparison.explanation->lockstep_state == 2);
  CHECK(replays.calls.back()[0].request.replay->first_step == 3);
  CHECK(has(replays.calls.back()[0].request.replay->from_state, "b-operators/state-2.safetensors"));
  CHECK(replays.calls[0][0].request.replay->operators_from == 3);
  REQUIRE(comparison.explanation->call);
  CHECK(comparison.explanation->call->measured.pass == "optimizer");
  CHECK(comparison.explanation->call->measured.module == "fc1.weight");
  CHECK(comparison.explanation->call->measured.step == 3);
  CHECK(comparison.explanation->element->index == 5);
}

TEST_CASE("of several diverging calls the first is named, and the names of all of its step", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, 0},
                               {"optimizer fc2.bias aten::lerp_", 2, 2, 0},
                               {"backward fc2 aten::sum", 1, 1, 0}};
  const auto comparison = compare_stacks(replays, explained());
  CHECK(comparison.trace.first->step == 1);
  CHECK(comparison.explanation->call->measured.name == "aten::sum");
  CHECK(comparison.explanation->diverging_operators == std::vector<std::string>{"aten::sum"});
}

// The decay of another parameter behind a product that was rounded otherwise: the cheapest way to hide a defect.
TEST_CASE("a defect behind a harmless difference, fed by equal inputs, is found, judged and named", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, 0},
                               {"optimizer fc3.weight aten::mul_", 2, 2, 3, times(1.5)}};
  const auto comparison = compare_stacks(replays, explained(8));
  const Explanation& found = *comparison.explanation;
  CHECK(found.call->measured.name == "aten::addmm");
  REQUIRE(found.further_sources.size() == 1);
  const FurtherSource& second = found.further_sources.front();
  CHECK(second.call->measured.name == "aten::mul_");
  CHECK(second.inputs_agree);
  REQUIRE(second.element);
  CHECK(second.element->index == 3);
  CHECK(second.element->tensor == "output 0 of aten::mul_");
  REQUIRE(second.budget);
  CHECK(second.budget->measured_error_rel > 0.01);
  CHECK(second.budget->expected_error_rel < 1e-6);
  CHECK(found.element->tensor == "output 0 of aten::addmm");
  CHECK(found.calls_apart == 0);  // on the values of the other side each of them makes what its partner makes
  REQUIRE(replays.calls.size() >= 2);
  const Replay& capture = *replays.calls[1][0].request.replay;
  CHECK(capture.capture->index == 0);
  REQUIRE(capture.further_captures.size() == 1);
  CHECK(capture.further_captures[0].index == second.call->measured.index);
  CHECK(found.lockstep->word == LockstepWord::rounding);  // nothing else sees it
  REQUIRE(found.diagnosis);
  CHECK(found.diagnosis->word == ExplainedWord::defect);
  CHECK(has(found.diagnosis->sentence, "behind the first difference, aten::mul_ (optimizer of `fc3.weight`)"));
  CHECK(has(comparison.sentence, "; defect: behind the first difference, aten::mul_"));
}

TEST_CASE("a further source that rounds is judged as the first is, and stays behind it", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, 0}, {"optimizer fc3.weight aten::mul_", 2, 2, 3}};
  const auto comparison = compare_stacks(replays, explained(8));
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.further_sources.size() == 1);
  CHECK(found.further_sources[0].diagnosis.word == ExplainedWord::rounding);
  CHECK(found.diagnosis->word == ExplainedWord::rounding);
  CHECK(has(found.diagnosis->sentence, "1 further source in that step: 1 rounding"));
}

TEST_CASE("another constant of a call behind a harmless difference is another computation", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, 0},
                               {"constants forward fc2 aten::addmm", 2, 2, 0, becomes(2)}};
  const auto comparison = compare_stacks(replays, explained(8));
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.further_sources.size() == 1);
  CHECK_FALSE(found.further_sources[0].inputs_agree);
  CHECK(found.further_sources[0].no_budget == "its inputs differ already");
  CHECK(found.diagnosis->word == ExplainedWord::another_computation);
  CHECK(has(found.diagnosis->sentence, "the constants of aten::addmm differ: 2 against 1"));
  CHECK(replays.calls[1][0].request.replay->further_captures.empty());
}

TEST_CASE("a state changed between operators hides no operator that makes a difference of its own", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"parameter fc2.weight", 4, 4, 5},
                               {"optimizer fc3.weight aten::mul_", 4, 4, 3, times(1.5)}};
  const auto comparison = compare_stacks(replays, explained());
  const Explanation& found = *comparison.explanation;
  CHECK_FALSE(found.call);
  CHECK(found.element->tensor == "fc2.weight after step 4");
  REQUIRE(found.further_sources.size() == 1);
  CHECK(found.further_sources[0].diagnosis.word == ExplainedWord::defect);
  CHECK(found.diagnosis->word == ExplainedWord::defect);
  CHECK(replays.calls[1][0].request.replay->capture->index == found.further_sources[0].call->measured.index);
}

TEST_CASE("a state changed between operators has no operator to blame: the changed tensor is shown", "[explanation]") {
  ScriptedReplays replays;
  SECTION("in a later step") {
    replays.stacks["stack-b"] = {{"parameter fc2.weight", 4, 4, 5}};
    const auto comparison = compare_stacks(replays, explained());
    CHECK(comparison.trace.first->tensor == "fc2.weight");
    REQUIRE(comparison.explanation);
    CHECK_FALSE(comparison.explanation->call);
    // fc1's tensors differ after step 4, too, and stand before it.
    CHECK(comparison.explanation->element->tensor == "fc2.weight after step 4");
    CHECK(has(comparison.sentence, "no operator made it"));
    REQUIRE(comparison.explanation->notes.size() == 1);
    CHECK(has(comparison.explanation->notes.front(), "before an operator touched it"));
    CHECK(comparison.explanation->no_budget.empty());  // nothing was to be captured
  }
  SECTION("that a replay had already before it began: this state is shown") {
    replays.stacks["stack-b"] = {{"parameter fc2.weight", 4, 4, 5}};
    replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
      if (task.purpose != "a-operators") return;
      std::filesystem::copy_file(outcome.folder / snapshot_file(4), outcome.folder / snapshot_file(2),
                                 std::filesystem::copy_options::overwrite_existing);
    };
    CHECK(compare_stacks(replays, explained()).explanation->element->tensor == "fc2.weight after step 2");
  }
  SECTION("in the first step there is none before it to look at") {
    replays.stacks["stack-b"] = {{"parameter fc2.weight", 1, 1, 5}};
    const auto comparison = compare_stacks(replays, explained());
    CHECK(replays.calls[0][0].request.replay->operators_from == 1);
    CHECK(comparison.explanation->element->tensor == "fc2.weight after step 1");
  }
  SECTION("the named tensor may be no part of the state: the first that differs is shown") {
    replays.stacks["stack-b"] = {{"input", 4, 4, -1, times(1.5)}};
    const auto comparison = compare_stacks(replays, explained());
    CHECK(comparison.trace.first->role == "input");
    CHECK(comparison.explanation->element->tensor == "fc1.bias after step 4");
  }
}

TEST_CASE("other constants of a call are told from another operator", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, -1, times(1.001)},
                               {"constants forward fc1 aten::addmm", 2, 2, 0, becomes(2)}};
  const auto comparison = compare_stacks(replays, explained());
  CHECK(comparison.explanation->call->constants_differ);
  CHECK(comparison.explanation->call->measured.constants == "2");
}

TEST_CASE("an answer never says rounding where constants differ, whatever the steps say", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, 0},
                               {"constants forward fc1 aten::addmm", 2, 2, 0, becomes(2)}};
  const auto comparison = compare_stacks(replays, explained(8));
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.diagnosis);
  CHECK(found.lockstep->word == LockstepWord::rounding);
  CHECK(found.diagnosis->word == ExplainedWord::another_computation);
  CHECK(has(found.diagnosis->sentence, "the constants of aten::addmm differ: 2 against 1"));
  CHECK_FALSE(has(comparison.sentence, "rounding"));
}

TEST_CASE("the output of an operator beyond the bound of its rounding is a defect of that operator", "[explanation]") {
  ScriptedReplays replays;
  SECTION("of the measured side") { replays.stacks["stack-b"] = {{"forward act aten::relu", 4, 4, 7}}; }
  SECTION("of the expected side") { replays.stacks["stack-a"] = {{"forward act aten::relu", 4, 4, 7}}; }
  const bool is_expected = replays.stacks.count("stack-a") > 0;
  const auto comparison = compare_stacks(replays, explained(8));
  const Diagnosis& diagnosis = *comparison.explanation->diagnosis;
  CHECK(diagnosis.word == ExplainedWord::defect);
  CHECK(comparison.explanation->lockstep->options.legitimate_ratio == kLegitimateRatio);  // of the same operators
  CHECK(has(diagnosis.sentence, "aten::relu is off by more than it can round: on the "));
  CHECK(has(diagnosis.sentence, is_expected ? "on the expected side by" : "on the measured side by"));
}

// In fp64 the two subgraphs ask for the same, and the steps may not see an error as small as this.
TEST_CASE("what is not finite on one side has an element and no distance in ULP of NaN", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 4, 3, becomes(-kInfinity)}};  // the ReLU drops it
  const auto comparison = compare_stacks(replays, explained());
  CHECK_FALSE(comparison.non_finite);
  const ElementFinding& element = *comparison.explanation->element;
  CHECK(element.index == 3);
  CHECK(element.measured == -kInfinity);
  CHECK_FALSE(element.max_ulp);
}

TEST_CASE("at level `step` the operators are recorded since the state was last seen equal", "[explanation]") {
  ScriptedReplays replays;
  CellRequest request = synthetic_request();
  request.trace = TraceLevel::step;
  request.workload.steps = 60;
  const auto [step, first] = GENERATE(std::pair(20, 1), std::pair(50, 1), std::pair(51, 51), std::pair(55, 51));
  CAPTURE(step);
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", step, step, 2}};
  const auto comparison = compare_stacks(replays, explained(), request);
  CHECK(comparison.trace.first->step == step);
  CHECK(comparison.trace.first->tensor.empty());
  CHECK(replays.calls[0][0].request.replay->operators_from == first);
  CHECK(comparison.explanation->call->measured.step == step);
}

TEST_CASE("at level `recent` a step on record names its tensor, and another is replayed with the one before it",
          "[explanation]") {
  ScriptedReplays replays;
  CellRequest request = synthetic_request();
  request.trace = TraceLevel::recent;
  request.workload.steps = 90;
  std::string deviation = "forward fc2 aten::addmm";
  std::int64_t step = 15;
  std::int64_t shows_at = 15;
  std::int64_t first = 14;
  std::string place = "its root, whose tensors are not on record at `trace: recent`";
  SECTION("whose tensors are gone") {}
  SECTION("which began with another parameter, gone with the others") {
    deviation = "optimizer fc1.weight aten::addcdiv_";
    step = 14;
  }
  SECTION("among the last 64") {
    step = shows_at = first = 80;
    place = "forward_output `fc2`";
  }
  SECTION("log-spaced") {
    step = shows_at = first = 20;
    place = "forward_output `fc2`";
  }
  replays.stacks["stack-b"] = {{deviation, step, step, 5}};
  const auto comparison = compare_stacks(replays, explained(), request);
  CHECK(comparison.trace.first->step == shows_at);
  CHECK(has(comparison.sentence, fmt::format("first difference in step {}, {}", shows_at, place)));
  CHECK(comparison.trace.first->tensor.empty() == (step < 20));
  REQUIRE_FALSE(replays.calls.empty());
  CHECK(replays.calls[0][0].request.replay->operators_from == first);
  REQUIRE(comparison.explanation->call);
  CHECK(comparison.explanation->call->measured.step == step);
  CHECK(comparison.explanation->notes.empty());
  CHECK(comparison.events.empty());
}

TEST_CASE("the digests of levels `recent` and `tensor` are of the same tensors, those of `step` are not",
          "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 15, 15, 5}};
  CellRequest recent = synthetic_request();
  recent.trace = TraceLevel::recent;
  recent.workload.steps = 90;
  CellRequest other = recent;
  other.trace = GENERATE(TraceLevel::tensor, TraceLevel::step);
  const bool is_measured = GENERATE(true, false);
  const auto compared = [&](const std::string& stack) {
    return compare_cells(replays.side(stack, is_measured ? recent : other),
                         replays.side("stack-a", is_measured ? other : recent), {}, replays);
  };
  if (other.trace == TraceLevel::step) {
    CHECK(compared("stack-a").word == Match::not_comparable);
    return;
  }
  CHECK(compared("stack-a").word == Match::equal);
  CHECK(compared("stack-b").trace.first->step == 15);
  CHECK(has(compared("stack-b").sentence, "whose tensors are not on record"));
}

TEST_CASE("no number of sides with other workloads is compared", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 4, 7}};
  ComparedSide measured = replays.side("stack-b", synthetic_request());
  ComparedSide expected = replays.side("stack-a", synthetic_request());
  std::string says;
  SECTION("the digest") {
    measured.attempt.lead().result->workload_digest = "other";
    says = "the workload digests differ: other against";
  }
  SECTION("the batch size") {
    measured.request.workload.batch_size = 16;
    says = "the workloads differ: batch_size 16 against 8";
  }
  SECTION("the number of ranks") {
    measured.request.world_size = 2;
    says = "the workloads differ: world_size 2 against 1";
  }
  SECTION("the seed") {
    measured.request.knobs["seed"] = "2";
    says = "seed 2 against 1";
  }
  SECTION("the precision") {
    measured.request.knobs["precision"] = "bf16";
    says = "precision bf16 against fp32";
  }
  SECTION("the level") {
    measured.request.trace = TraceLevel::step;
    says = "the digests are of different levels";
  }
  SECTION("the number of steps recorded") {
    measured.attempt.lead().trace->steps.pop_back();
    says = "5 steps against 6";
  }
  const auto comparison = compare_cells(measured, expected, explained(2), replays);
  CHECK(comparison.word == Match::not_comparable);
  CHECK(has(comparison.sentence, says));
  CHECK(replays.calls.empty());
  CHECK_FALSE(comparison.trace.first);
}
}  // namespace
}  // namespace reprobench
