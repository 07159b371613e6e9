// What an explanation says of whole steps against fp64.
#include "matrix/inquiry/explain/step_judgement.hpp"

#include <fstream>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"

namespace reprobench {
namespace {

TEST_CASE("many batches from one state beside fp64 tell rounding from a defect", "[explanation]") {
  ScriptedReplays replays;
  SECTION("one unit in the last place") {
    replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, 7}};
    const auto comparison = compare_stacks(replays, explained(8));
    CHECK(comparison.explanation->lockstep->word == LockstepWord::rounding);
    CHECK(has(comparison.sentence, "; rounding: by the steps against fp64 alone"));
  }
  SECTION("a thousandth") {
    replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, -1, times(1.001)}};
    const auto comparison = compare_stacks(replays, explained(8));
    CHECK(comparison.explanation->lockstep->word == LockstepWord::defect);
    CHECK(comparison.explanation->lockstep->batches == 8);
    CHECK(comparison.explanation->lockstep_state == 3);
    const auto& tasks = replays.calls.at(replays.calls.size() - 2);
    REQUIRE(tasks.size() == 3);
    for (const ReplayTask& task : tasks) {
      CHECK(has(task.request.replay->from_state, "b-operators/state-3.safetensors"));
      CHECK(task.request.replay->first_step == 4);
      CHECK(task.request.replay->last_step == 11);
      CHECK(task.request.replay->hold_state);
      CHECK(task.request.knobs.at("precision") == (task.purpose == "c-fp64" ? "fp64" : "fp32"));
    }
  }
}

TEST_CASE("sides draw their errors apart where a call that diverges is proven to add in another order",
          "[explanation]") {
  const auto source = [](OrderWord word) {
    FurtherSource one;
    one.budget = OperatorBudget{};
    one.budget->order = OrderJudgement{word, ""};
    return one;
  };
  Explanation explanation;
  CHECK_FALSE(has_proven_order(explanation));
  explanation.budget = OperatorBudget{};
  CHECK_FALSE(has_proven_order(explanation));
  explanation.further_sources = {source(OrderWord::unknown), source(OrderWord::broken)};
  CHECK_FALSE(has_proven_order(explanation));
  explanation.further_sources.push_back(source(OrderWord::proven));
  CHECK(has_proven_order(explanation));
  explanation.further_sources.clear();
  explanation.budget->order = OrderJudgement{OrderWord::proven, ""};
  CHECK(has_proven_order(explanation));

  ScriptedReplays replays;
  const ComparedSide ours = replays.side("stack-b", synthetic_request());
  const ComparedSide theirs = replays.side("stack-a", synthetic_request());
  Replay kept;
  kept.snapshots_after = {3};
  kept.last_step = 3;
  const auto states = replays.run({{"states", theirs.replayed(kept)}}).front().folder;
  for (const OrderWord word : {OrderWord::proven, OrderWord::unknown}) {
    explanation.budget->order->word = word;
    judge_steps({ours, theirs, explained(8)}, states, 3, replays, explanation);
    CHECK(explanation.lockstep->options.is_drawn_apart == (word == OrderWord::proven));
  }
}

TEST_CASE("a defect that a second process does not show is that of a side which does not repeat itself",
          "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, 7}};
  int held = 0;
  const int wrong_processes = GENERATE(0, 1, 2);
  replays.planted = [&](const CellRequest& request) -> std::vector<Deviation> {
    const bool is_held = request.stack == "stack-b" && request.replay && request.replay->hold_state;
    if (!is_held || ++held > wrong_processes) return {};
    return {{"optimizer fc1.weight aten::addcdiv_", 1, 99, -1, times(1.0001)}};
  };
  const auto comparison = compare_stacks(replays, explained(4));
  const auto& again = comparison.explanation->lockstep_again;
  if (wrong_processes == 0) {
    CHECK_FALSE(again);
    return;
  }
  CHECK(comparison.explanation->lockstep->tensors.front().name == "update/fc1.weight");
  CHECK(comparison.explanation->diagnosis->word == ExplainedWord::defect);
  REQUIRE(again);
  if (wrong_processes == 2) {  // the same in every process: no chance
    CHECK(again->word == LockstepWord::defect);
    CHECK(again->unrepeated.empty());
    CHECK(again->sentence == "both sides repeat themselves in second processes");
    CHECK_FALSE(has(comparison.sentence, "second process"));
    return;
  }
  CHECK(again->word == LockstepWord::rounding);
  REQUIRE(again->unrepeated.size() == 1);
  CHECK(again->unrepeated[0].side == "stack-b");
  CHECK(again->unrepeated[0].tensor == "update/fc1.weight");
  CHECK(again->unrepeated[0].batch == 0);
  CHECK(again->unrepeated[0].differing > 0);
  CHECK(again->unrepeated[0].differing <= again->unrepeated[0].count);
  CHECK(again->unrepeated[0].max_ulp.value() > 100);
  CHECK(has(comparison.sentence, "; stack-b does not repeat itself: a second process gives "));
  CHECK(has(comparison.sentence, "; the steps of the second processes say rounding"));
}

TEST_CASE("a defect stands where a second process crashes, and that is said", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, -1, times(1.001)}};
  replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == "a-lockstep-again") outcome.attempt.end = AttemptEnd::crash;
  };
  const auto comparison = compare_stacks(replays, explained(4));
  const Explanation& found = *comparison.explanation;
  CHECK(found.lockstep->word == LockstepWord::defect);
  CHECK(found.diagnosis->word == ExplainedWord::defect);
  CHECK_FALSE(found.lockstep_again);
  CHECK(std::ranges::any_of(found.notes, [](const std::string& note) {
    return has(note, "the steps were not taken a second time: replay `a-lockstep-again` on stack-b ended as crash");
  }));
  CHECK(comparison.unanswered.empty());
}

TEST_CASE("other operators are another order of summation where gradients come of them, and no update is",
          "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"decomposed act", 4, 4, -1, times(1)}};
  const bool is_of_optimizer = GENERATE(false, true);
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (!is_of_optimizer || task.request.replay.value_or(Replay{}).operators_to == 0) return;
    change_calls(outcome, [](OperatorRecord& call) { call.pass = "optimizer"; });
  };
  const Explanation found = *compare_stacks(replays, explained(4)).explanation;
  REQUIRE(found.region);
  CHECK(found.lockstep->options.legitimate_ratio == (is_of_optimizer ? kLegitimateRatio : kLegitimateRatioOfOrders));
}

TEST_CASE("an fp64 run is judged by none, and a planted fault is not in the exact one", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, 7}};
  CellRequest request = synthetic_request();
  SECTION("fp64") {
    request.knobs["precision"] = "fp64";
    const auto comparison = compare_stacks(replays, explained(8), request);
    CHECK_FALSE(comparison.explanation->lockstep);
    CHECK(comparison.explanation->notes.size() == 1);
  }
  SECTION("a fault") {
    request.inject = Injection{"weight_ulp", 4, "fc1.weight", 0};
    compare_stacks(replays, explained(8), request);
    for (const ReplayTask& task : replays.calls.back()) {
      CHECK(task.request.inject.has_value() == (task.purpose != "c-fp64"));
    }
  }
}

TEST_CASE("sides with other BLAS libraries are allowed another order of summation, and it is said", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, 7}};
  const bool other = GENERATE(true, false);
  ComparedSide measured = replays.side("stack-b", synthetic_request());
  const ComparedSide expected = replays.side("stack-a", synthetic_request());
  if (other) measured.attempt.lead().result->fingerprint.blas_provider = "mkl";
  const auto comparison = compare_cells(measured, expected, explained(2), replays);
  CHECK(comparison.explanation->lockstep->options.legitimate_ratio ==
        (other ? kLegitimateRatioOfOrders : kLegitimateRatio));
  CHECK(comparison.explanation->lockstep->options.summed_terms.empty() == !other);
  CHECK(comparison.explanation->notes.size() == (other ? 1 : 0));
}

TEST_CASE("--states judges the step after each of them, from one replay of the expected side", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 5, 99, -1, times(1.001)}};
  ExplainSettings settings = explained(2);
  settings.lockstep_states = {4, 0, 2};
  const auto comparison = compare_stacks(replays, settings);
  const auto& judged = comparison.explanation->lockstep_states;
  REQUIRE(judged.size() == 3);
  CHECK(judged[0].state == 4);
  CHECK(judged[0].word == LockstepWord::defect);
  CHECK(judged[1].state == 0);
  CHECK(judged[1].sentence == "all 8 tensors have equal bits");
  CHECK(judged[2].word == LockstepWord::rounding);
  const auto states = std::find_if(replays.calls.begin(), replays.calls.end(),
                                   [](const auto& tasks) { return tasks.front().purpose == "b-states"; });
  REQUIRE(states != replays.calls.end());
  CHECK(states->size() == 1);
  CHECK(states->front().request.stack == "stack-a");
  CHECK(states->front().request.replay->last_step == 4);
  CHECK(has(replays.calls.back().front().request.replay->from_state, "b-states/state-2.safetensors"));
}

TEST_CASE("--states of the initial values alone needs a replay of one step", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 1, 99, 3}};
  ExplainSettings settings = explained(2);
  settings.lockstep_states = {0};
  CHECK(compare_stacks(replays, settings).explanation->lockstep_states.size() == 1);
  REQUIRE(replays.calls.size() >= 2);
  CHECK(replays.calls[replays.calls.size() - 2].front().purpose == "b-states");
  CHECK(replays.calls[replays.calls.size() - 2].front().request.replay->last_step == 1);
}

// A side of eight steps from one state: a gradient near `exact`, and the mask of a ReLU.
struct HeldSide {
  HeldSide(std::filesystem::path into, const char* element) : folder(std::move(into)), dtype(element) {
    std::filesystem::create_directory(folder);
  }

  void step(std::int64_t number, double error, int flips) {
    std::vector<float> floats;
    std::vector<double> doubles;
    for (int i = 0; i < 64; ++i) {
      doubles.push_back((1 + 0.01 * i) * (1 + error * (i % 2 == 0 ? 1 : -1)));
      floats.push_back(static_cast<float>(doubles.back()));
    }
    const bool is_exact = std::string_view(dtype) == "F64";
    const auto bytes = is_exact ? std::as_bytes(std::span(doubles)) : std::as_bytes(std::span(floats));
    write_safetensors(folder / gradients_file(number), {{"gradient/w", dtype, {64}, bytes}}, {});
    // The flips are in as many masks, one element in each.
    TensorsRecord masks{number, false, {}};
    for (int i = 0; i < 4; ++i) {
      const bool has_flip = i < flips;
      TensorRecord mask{
          fmt::format("relu{}", i), TensorRole::mask, "int64", {40}, std::string(32, has_flip ? 'f' : 'e'), {}};
      mask.sketch = TensorSketch{};
      mask.sketch->signed_sums[0] = has_flip ? 1 : 0;
      masks.tensors.push_back(mask);
    }
    std::ofstream(folder / "trace.jsonl", std::ios::app) << trace_line(to_json(masks), lines++);
  }

  std::filesystem::path folder;
  const char* dtype;
  std::int64_t lines = 0;
};

TEST_CASE("a batch with one element of a mask that is not as in fp64 leaves the steps open", "[explanation]") {
  struct Case {
    int flips;
    bool is_of_expected;
    LockstepWord word;
  };
  const auto [flips, is_of_expected, word] = GENERATE(values<Case>({{0, false, LockstepWord::defect},
                                                                    {1, false, LockstepWord::undecided},
                                                                    {1, true, LockstepWord::undecided},
                                                                    {2, false, LockstepWord::undecided},
                                                                    {3, false, LockstepWord::defect}}));
  TemporaryFolder folder;
  HeldSide measured(folder.path / "a", "F32");
  HeldSide expected(folder.path / "b", "F32");
  HeldSide exact(folder.path / "c", "F64");
  for (std::int64_t step = 4; step <= 11; ++step) {
    const bool is_odd = step == 7;
    measured.step(step, is_odd ? 1e-4 : 3e-7, is_odd && !is_of_expected ? flips : 0);
    expected.step(step, -3e-7, is_odd && is_of_expected ? flips : 0);
    exact.step(step, 0, 0);
  }
  Replay replay;
  replay.first_step = 4;
  replay.last_step = 11;
  const Lockstep judged = judge_lockstep_files(measured.folder, expected.folder, exact.folder, replay, {});
  CHECK(judged.word == word);
  if (word == LockstepWord::undecided) {
    CHECK(has(judged.sentence, flips == 1 ? "in batch 3 1 element of `relu0` is not as in fp64"
                                          : "in batch 3 2 elements of masks, first `relu0`, are not as in fp64"));
  }
}

}  // namespace
}  // namespace reprobench
