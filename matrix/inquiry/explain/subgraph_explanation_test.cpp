// Differences that no pair of calls makes: sides that take different operators, and values that one side's calls make.
#include <functional>
#include <limits>

#include "ci/catch.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"

namespace reprobench {
namespace {

TEST_CASE("sides that take different operators are answered by both subgraphs, judged in fp64", "[explanation]") {
  ScriptedReplays replays;
  SECTION("another decomposition of the same is rounding") {
    replays.stacks["stack-b"] = {{"decomposed act", 4, 4, -1, times(1)}};
    const auto comparison = compare_stacks(replays, explained(8));
    const Explanation& found = *comparison.explanation;
    CHECK_FALSE(found.call);
    REQUIRE(found.region);
    CHECK(names_of(found.region->measured) == "aten::mul, aten::div, aten::clamp_min");
    CHECK(names_of(found.region->expected) == "aten::relu");
    REQUIRE(found.budget);
    CHECK(*found.budget->forms_apart_rel < 1e-15);
    CHECK(found.diagnosis->word == ExplainedWord::rounding);
    CHECK(found.lockstep->options.legitimate_ratio == kLegitimateRatioOfOrders);
    CHECK(has(found.diagnosis->sentence, "the two subgraphs make the same, and the steps against fp64 confirm it"));
    CHECK(has(comparison.sentence,
              "the sides take different operators: aten::mul, aten::div, aten::clamp_min against "
              "aten::relu (forward of `act`)"));
    CHECK_FALSE(has(comparison.sentence, "no operator made it"));
    CHECK(found.element->tensor == "what aten::mul, aten::div, aten::clamp_min made");
    REQUIRE(found.module);
    CHECK(found.module->module == "act");
    CHECK(found.module->word == ExplainedWord::rounding);
    CHECK(found.module->measured.calls == 3);
    CHECK(*found.module->measured.of_bound > 0);
    CHECK(*found.module->measured.of_bound < 1);
    CHECK(found.module->expected.calls == 1);
    CHECK(found.module->expected.of_bound == 0);
    CHECK(has(found.diagnosis->sentence, "at `act` every call stays within its bound, 3 on the measured side"));
    const Replay& capture = *replays.calls[1][0].request.replay;
    REQUIRE(capture.further_captures.size() == 3);  // each call of the module by itself
    CHECK(capture.further_captures[1].index == 2);
    CHECK(capture.further_captures[1].subgraph.empty());
    CHECK(replays.calls[1][1].request.replay->further_captures.size() == 1);
    CHECK(replays.calls[1][0].request.replay->capture->subgraph == std::vector<std::int64_t>{1, 2, 3});
    CHECK(replays.calls[1][1].request.replay->capture->subgraph == std::vector<std::int64_t>{1});
  }
  SECTION("one with a constant wrong in its 20th bit is another computation") {
    replays.stacks["stack-b"] = {{"decomposed act", 4, 4, -1, times(1 + 0x1p-20)}};
    const auto comparison = compare_stacks(replays, explained(8));
    const Explanation& found = *comparison.explanation;
    CHECK(found.diagnosis->word == ExplainedWord::another_computation);
    CHECK(*found.budget->forms_apart_rel == Approx(0x1p-20).epsilon(1e-3));
    CHECK(found.module->word == ExplainedWord::another_computation);
    CHECK(*found.module->measured.of_bound < 1);  // no call of it is wrong by itself
    CHECK(found.module->farther == "measured");
    CHECK(*found.module->farther_factor >= kFartherFactor);
    CHECK(has(found.diagnosis->sentence, "at `act` (forward): in fp64, on equal values, the two sides are 9.5"));
    CHECK(has(found.diagnosis->sentence, "the measured side is "));
    CHECK(has(found.diagnosis->sentence, " times as far from fp64 as the expected one"));
    CHECK_FALSE(has(comparison.sentence, "; rounding"));
  }
  SECTION("a cast on one side is another computation, and named") {
    replays.stacks["stack-b"] = {{"cast fc1", 4, 4}};
    const auto comparison = compare_stacks(replays, explained(8));
    const Explanation& found = *comparison.explanation;
    REQUIRE(found.region);
    CHECK(names_of(found.region->measured) == "aten::_to_copy, aten::_to_copy");
    CHECK(names_of(found.region->expected) == "nothing");
    CHECK(found.diagnosis->word == ExplainedWord::another_computation);
    CHECK(has(found.diagnosis->sentence, "at `act` (forward): bfloat16 on the measured side only"));
    CHECK(found.module->farther == "measured");
    CHECK(found.module->expected.calls == 0);
    CHECK(found.budget->expected_error_rel == 0);
  }
}

TEST_CASE("a subgraph that a worker could not carry out in fp64 is not weighed by the values that it left",
          "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"decomposed act", 4, 4, -1, times(1)}};
  const std::string purpose = GENERATE("a-tensors", "b-tensors");
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose != purpose) return;
    const auto path = outcome.folder / operator_tensors_file(0);
    const auto file = SafetensorsFile::open(path);
    std::vector<SafetensorsTensor> tensors;
    for (const TensorView& tensor : file.tensors()) {
      tensors.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
    }
    write_safetensors(path, std::move(tensors), {{"subgraph", "aten::mul has no fp64 form"}});
  };
  const Explanation found = *compare_stacks(replays, explained(0)).explanation;
  CHECK(found.no_budget == "the subgraph cannot be carried out in fp64: aten::mul has no fp64 form");
  CHECK_FALSE(found.budget);
}

TEST_CASE("a further source that one side's calls alone make says so", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 1, 1, 0},
                               {"flat update", 1, std::numeric_limits<std::int64_t>::max(), 0, times(1.0)}};
  const Explanation found = *compare_stacks(replays, explained(0)).explanation;
  CHECK(found.call->measured.name == "aten::addmm");
  const auto one_sided = std::ranges::find_if(
      found.further_sources, [](const FurtherSource& source) { return source.region && source.inputs_agree; });
  REQUIRE(one_sided != found.further_sources.end());
  CHECK(one_sided->no_budget ==
        "no call on record makes this value on the measured side: it cannot be judged by itself");
}

const std::function<double(double, Rounding)> kAsItIs = [](double value, Rounding) { return value; };

TEST_CASE("an update that no call on record makes is judged by the steps against fp64, and said not to be on record",
          "[explanation]") {
  const double factor = GENERATE(1.0, 1.001);  // of the step's size
  const bool is_measured = GENERATE(true, false);
  ScriptedReplays replays;
  replays.stacks[is_measured ? "stack-b" : "stack-a"] = {
      {"flat update", 1, std::numeric_limits<std::int64_t>::max(), 0, times(factor)}};
  const auto comparison = compare_stacks(replays, explained(8));
  REQUIRE(comparison.explanation);
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.region);
  const std::string side = is_measured ? "measured" : "expected";
  CHECK(names_of(is_measured ? found.region->measured : found.region->expected) == "no call on record");
  CHECK(found.no_budget ==
        "no call on record makes this value on the " + side + " side: it cannot be judged by itself");
  REQUIRE(found.diagnosis);
  CHECK(has(found.diagnosis->sentence, found.no_budget));
  if (factor == 1) CHECK(found.diagnosis->word == ExplainedWord::rounding);
  if (factor != 1 && is_measured) CHECK(found.diagnosis->word == ExplainedWord::defect);
  CHECK(compare_stacks(replays, explained(0)).explanation->diagnosis->word == ExplainedWord::undecided);
}

TEST_CASE("an update that one side leaves out is another computation, be the others on record or not",
          "[explanation]") {
  const bool is_flat = GENERATE(true, false);
  const bool is_measured = GENERATE(true, false);
  ScriptedReplays replays;
  auto& deviations = replays.stacks[is_measured ? "stack-b" : "stack-a"];
  deviations = {{"no update fc2.bias", 2, 2, 0, kAsItIs}};
  if (is_flat) deviations.push_back({"flat update", 2, 2, 0, kAsItIs});
  const auto comparison = compare_stacks(replays, explained());
  REQUIRE(comparison.explanation);
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.diagnosis);
  CHECK(found.diagnosis->word == ExplainedWord::another_computation);
  CHECK(has(found.diagnosis->sentence, std::string("the ") + (is_measured ? "measured" : "expected") +
                                           " side leaves fc2.bias, fc2.bias.exp_avg as it is"));
}

}  // namespace
}  // namespace reprobench
