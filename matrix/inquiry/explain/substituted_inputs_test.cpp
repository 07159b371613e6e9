// What stands behind a difference, judged on the values of the other side.
#include "matrix/inquiry/explain/substituted_inputs.hpp"

#include "ci/catch.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"
#include "matrix/numerics/calls/written_step.hpp"

namespace reprobench {
namespace {

const Deviation kRoundedOtherwise{"forward fc1 aten::addmm", 2, 2, 0};

OperatorTensor value(char digit, std::vector<std::int64_t> shape = {2}, const std::string& dtype = "float32") {
  return {dtype, std::move(shape), std::string(32, digit)};
}

OperatorRecord call_with(std::int64_t index, const std::string& name, std::vector<OperatorTensor> inputs,
                         std::vector<OperatorTensor> outputs) {
  OperatorRecord call;
  call.step = 1;
  call.index = index;
  call.name = name;
  call.pass = "forward";
  call.inputs = std::move(inputs);
  call.outputs = std::move(outputs);
  return call;
}

using Records = std::vector<OperatorRecord>;

const FurtherSource* source_of(const Explanation& found, const std::string& name) {
  for (const FurtherSource& source : found.further_sources) {
    if (source.call && source.call->measured.name == name) return &source;
    if (source.region && source.region->measured.calls.back().name == name) return &source;
  }
  return nullptr;
}

TEST_CASE("a wrong decomposition behind a harmless difference is another computation, a right one rounding",
          "[given]") {
  const bool is_wrong = GENERATE(true, false);
  ScriptedReplays replays;
  Deviation decomposed{"decomposed act", 2, 2, 0, times(1)};
  if (is_wrong) decomposed.change = times(1 + 0x1p-20);
  replays.stacks["stack-b"] = {kRoundedOtherwise, decomposed};
  const auto comparison = compare_stacks(replays, explained());
  const Explanation& found = *comparison.explanation;
  CHECK(found.call->measured.module == "fc1");
  const FurtherSource* module = source_of(found, "aten::clamp_min");
  REQUIRE(module != nullptr);
  CHECK(module->on_substituted_inputs);
  CHECK(module->inputs_agree);
  REQUIRE(module->budget);
  CHECK(*module->budget->forms_apart_rel == Approx(is_wrong ? 0x1p-20 : 0).margin(1e-12));
  REQUIRE(module->module);
  CHECK(module->module->word == (is_wrong ? ExplainedWord::another_computation : ExplainedWord::rounding));
  if (is_wrong) {
    CHECK(found.diagnosis->word == ExplainedWord::another_computation);
    CHECK(has(found.diagnosis->sentence,
              "behind the first difference, aten::mul, aten::div, aten::clamp_min against aten::relu (forward of "
              "`act`), on the values of the expected side: "));
  }
}

TEST_CASE("a call that takes differing values and gives a wrong result is judged by what equal values make of it",
          "[given]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {kRoundedOtherwise, {"optimizer fc2.weight aten::lerp_", 2, 2, 3, times(1.001)}};
  const auto comparison = compare_stacks(replays, explained());
  const Explanation& found = *comparison.explanation;
  const FurtherSource* update = source_of(found, "aten::lerp_");
  REQUIRE(update != nullptr);
  CHECK(update->on_substituted_inputs);
  CHECK(update->call->measured.module == "fc2.weight");
  CHECK(update->call->measured.inputs == update->call->expected.inputs);
  REQUIRE(update->element);
  CHECK(update->element->index == 3);
  CHECK(update->element->differing == 1);
  REQUIRE(update->budget);
  CHECK(update->budget->measured_error_rel > 1e-5);
  CHECK(update->budget->expected_error_rel < 1e-6);
}

TEST_CASE("what takes equal values once they are given and makes equal ones is no source", "[given]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {kRoundedOtherwise};
  const auto comparison = compare_stacks(replays, explained());
  const Explanation& found = *comparison.explanation;
  CHECK(found.further_sources.empty());
  CHECK(found.calls_apart == 0);
  CHECK(found.gradient_calls_apart == 0);
  REQUIRE(replays.calls.size() == 3);
  CHECK(replays.calls[1][1].purpose == "b-tensors");
  CHECK(replays.calls[1][1].request.stack == "stack-a");
  CHECK(replays.calls[1][1].request.replay->keep_values->step == 2);
  CHECK_FALSE(replays.calls[1][0].request.replay->keep_values);
  const Replay& given = *replays.calls[2][0].request.replay;
  CHECK(replays.calls[2][0].purpose == "a-given");
  CHECK(replays.calls[2][0].request.stack == "stack-b");
  CHECK(has(given.from_state, "a-operators/state-1.safetensors"));
  CHECK(given.operators_from == 2);
  CHECK(given.operators_to == 2);
  CHECK(given.substituted_inputs->step == 2);
  CHECK(has(given.substituted_inputs->file, "b-tensors/values.safetensors"));
}

TEST_CASE("nothing is given where nothing takes differing values", "[given]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"optimizer fc3.weight aten::mul_", 2, 2, 3, times(1.5)},
                               {"optimizer fc2.bias aten::addcdiv_", 2, 2, 0}};
  const auto comparison = compare_stacks(replays, explained());
  CHECK(comparison.explanation->calls_apart == 0);
  for (const auto& tasks : replays.calls) {
    CHECK(tasks[0].purpose != "b-values");
    for (const ReplayTask& task : tasks) CHECK_FALSE(task.request.replay->keep_values);
  }
}

TEST_CASE("values are kept by a replay of their own where none captures tensors, or where they are many", "[given]") {
  ScriptedReplays replays;
  const bool captures = GENERATE(true, false);
  const std::int64_t elements = captures ? GENERATE(1 << 23, 1 << 24, 1 << 25) : 1;
  if (captures) {
    replays.stacks["stack-b"] = {kRoundedOtherwise};
    replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
      if (!task.purpose.ends_with("-operators")) return;
      change_calls(outcome, [&](OperatorRecord& call) {
        if (call.step == 2 && call.name == "aten::relu") call.outputs.front().shape = {elements};
      });
    };
  } else {
    // Nothing of the step took equal values and made different ones.
    replays.stacks["stack-b"] = {{"parameter fc2.weight", 2, 2, 0},
                                 {"constants optimizer fc2.weight aten::addcdiv_", 2, 2, 0, becomes(0.05)}};
  }
  compare_stacks(replays, explained());
  std::vector<std::string> keeping;
  for (const auto& tasks : replays.calls) {
    for (const ReplayTask& task : tasks) {
      if (task.request.replay->keep_values) keeping.push_back(task.purpose);
    }
  }
  CAPTURE(elements);
  CHECK(keeping == std::vector<std::string>{elements == 1 << 23 ? "b-tensors" : "b-values"});
}

TEST_CASE("calls whose values were not kept, or of a replay that failed, count as not judged", "[given]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {kRoundedOtherwise, {"optimizer fc2.weight aten::lerp_", 2, 2, 3, times(1.001)}};
  SECTION("no values were kept") {
    replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
      if (task.purpose == "b-tensors") write_safetensors(outcome.folder / kValuesFile, {}, {});
    };
    const Explanation found = *compare_stacks(replays, explained()).explanation;
    CHECK(found.further_sources.empty());
    CHECK(found.calls_apart > 3);
    CHECK(found.gradient_calls_apart > 3);
    CHECK(found.notes.empty());
  }
  SECTION("the replay that is given them fails") {
    const char* const failing = GENERATE("a-given", "a-behind");
    replays.spoil = [failing](const ReplayTask& task, ReplayOutcome& outcome) {
      if (task.purpose == failing) outcome.attempt.end = AttemptEnd::crash;
    };
    const auto comparison = compare_stacks(replays, explained(8));
    const Explanation& found = *comparison.explanation;
    CHECK(found.calls_apart > 3);
    CHECK(found.gradient_calls_apart > 3);
    REQUIRE(found.notes.size() == 1);
    CHECK(has(found.notes.front(), "calls that take values which differ already were not all judged: "));
    CHECK(found.call->measured.module == "fc1");
    CHECK(found.lockstep);
    for (const FurtherSource& source : found.further_sources) {
      CHECK_FALSE(source.budget);
      CHECK_FALSE(source.no_budget.empty());
    }
  }
}

TEST_CASE("the pairs that take or make different values are given, and the values that they need counted once",
          "[given]") {
  const Records measured = {
      call_with(0, "aten::mm", {value('1')}, {value('2')}), call_with(1, "aten::relu", {value('2')}, {value('3')}),
      call_with(2, "aten::sum", {value('3')}, {value('9')}), call_with(3, "aten::add", {value('9')}, {value('4')})};
  const Records expected = {
      call_with(0, "aten::mm", {value('1')}, {value('2')}), call_with(5, "aten::relu", {value('2')}, {value('a')}),
      call_with(6, "aten::sum", {value('a')}, {value('9')}), call_with(7, "aten::add", {value('9')}, {value('a')})};
  const SubstitutedCalls given = calls_to_substitute(measured, expected);
  REQUIRE(given.calls.size() == 3);
  CHECK(given.calls[0].index == 1);
  CHECK(given.calls[0].digests == std::vector{std::string(32, 'a')});
  CHECK(given.calls[1].index == 2);
  CHECK(given.calls[1].digests == std::vector{std::string(32, '9')});
  CHECK(given.calls[2].index == 3);
  CHECK(given.digests == std::vector{std::string(32, 'a'), std::string(32, '9')});
  CHECK(given.bytes == 2 * 2 * 4);
  const SubstitutedCalls fewer = calls_to_substitute(measured, expected, {2});
  REQUIRE(fewer.calls.size() == 2);
  CHECK(fewer.calls[1].index == 3);
  CHECK(fewer.digests == std::vector{std::string(32, 'a')});
}

TEST_CASE("calls behind an operator of one side are those that take its result, with all that they call", "[given]") {
  const auto step = [](bool is_ours) {
    WrittenStep written;
    if (is_ours) written.call("aten::mul", {"query"}, {"scaled"});  // 0
    const std::string taken = is_ours ? "scaled" : "query";
    written.view("aten::transpose", is_ours ? 0 : -1);  // 1
    written.calls.back().inputs[0].digest = "";
    written.caller("aten::matmul", {taken, "key"}, {"scores"}, [&](WrittenStep& inside) {  // 2
      inside.call("aten::clone", {taken}, {taken + " copy"}).call("aten::bmm", {taken + " copy", "key"}, {"scores"});
    });
    written.calls.back().inputs[0].made_by = is_ours ? 1 : 0;
    written.call("aten::softmax", {"scores"}, {"weights"});  // 5
    // Another library within an operator of both sides.
    written.caller("aten::linear", {"weights"}, {"out"}, [&](WrittenStep& inside) {  // 6
      inside.call(is_ours ? "aten::addmm" : "aten::mkldnn_linear", {"weights"}, {"out"});
    });
    written.call("aten::relu", {"out"}, {"active"}).from(0, is_ours ? 7 : 6);
    return written;
  };
  CHECK(calls_behind_one_side(step(true).calls, step(false).calls) == std::set<std::int64_t>{1, 2, 3, 4});
  CHECK(calls_behind_one_side(step(false).calls, step(true).calls) == std::set<std::int64_t>{0, 1, 2, 3});
  CHECK(calls_behind_one_side(step(true).calls, step(true).calls).empty());
}

TEST_CASE("no value of another type or shape is given, and none that is not on record or cannot be read back",
          "[given]") {
  OperatorTensor ours = value('2');
  OperatorTensor theirs = value('3');
  const auto given = [&] {
    return calls_to_substitute(Records{call_with(0, "aten::mm", {value('1')}, {ours})},
                               Records{call_with(0, "aten::mm", {value('1')}, {theirs})})
        .calls.size();
  };
  CHECK(given() == 1);
  SECTION("type") { theirs.dtype = "bfloat16"; }
  SECTION("not on record") { theirs.digest.clear(); }
  SECTION("complex") { ours.dtype = theirs.dtype = "complex64"; }
  CHECK(given() == 0);
}

TEST_CASE("of a call with several outputs each that can be is given, whatever stands before it", "[given]") {
  const SubstitutedCalls given =
      calls_to_substitute(Records{call_with(4, "aten::native_layer_norm", {value('1')},
                                            {value('2'), value('3', {2}, "complex64"), value('4', {3}), value('5')})},
                          Records{call_with(4, "aten::native_layer_norm", {value('1')},
                                            {value('6'), value('7', {2}, "complex64"), value('8'), value('9')})});
  REQUIRE(given.calls.size() == 1);
  CHECK(given.calls[0].digests == std::vector<std::string>{std::string(32, '6'), "", "", std::string(32, '9')});
  CHECK(given.digests == std::vector{std::string(32, '6'), std::string(32, '9')});
  CHECK(given.bytes == 2 * 2 * 4);
}

TEST_CASE("values of every type that a worker reads back are given", "[given]") {
  struct Type {
    const char* name;
    std::int64_t bytes;
  };
  const Type type = GENERATE(Type{"float32", 4}, Type{"float64", 8}, Type{"float16", 2}, Type{"bfloat16", 2},
                             Type{"int64", 8}, Type{"bool", 1});
  CAPTURE(type.name);
  const SubstitutedCalls given =
      calls_to_substitute(Records{call_with(0, "aten::mm", {value('1')}, {value('2', {5}, type.name)})},
                          Records{call_with(0, "aten::mm", {value('1')}, {value('3', {5}, type.name)})});
  CHECK(given.digests == std::vector{std::string(32, '3')});
  CHECK(given.bytes == 5 * type.bytes);
}

TEST_CASE("values beyond 1 GiB are counted as more than that, however large", "[given]") {
  const auto bytes = [](std::vector<std::int64_t> shape) {
    return calls_to_substitute(Records{call_with(0, "aten::mm", {value('1')}, {value('2', shape)})},
                               Records{call_with(0, "aten::mm", {value('1')}, {value('3', shape)})})
        .bytes;
  };
  CHECK(bytes({1 << 14, 1 << 14}) == kMostSubstitutedBytes);
  CHECK(bytes({1 << 14, (1 << 14) + 1}) == kMostSubstitutedBytes + 1);
  CHECK(bytes({std::int64_t{1} << 40, std::int64_t{1} << 40}) == kMostSubstitutedBytes + 1);
  CHECK(bytes({0, std::int64_t{1} << 40}) == 0);
}

TEST_CASE("a source that stood before values were given is not found twice", "[given]") {
  const auto at_call = [](std::int64_t index) {
    DivergencePoint point{OperatorDivergence{}, std::nullopt};
    point.call->measured.index = index;
    return point;
  };
  const auto at_subgraph = [](std::int64_t ours, std::int64_t theirs) {
    DivergencePoint point{std::nullopt, OperatorRegion{}};
    point.region->measured.at.index = ours;
    point.region->expected.at.index = theirs;
    return point;
  };
  Explanation known;
  known.call = at_call(3).call;
  known.further_sources.emplace_back().region = at_subgraph(5, 6).region;
  const auto left =
      not_known_yet({at_call(3), at_call(4), at_subgraph(5, 6), at_subgraph(5, 7), at_subgraph(-1, 3)}, known);
  REQUIRE(left.size() == 3);
  CHECK(left[0].call->measured.index == 4);
  CHECK(left[1].region->expected.at.index == 7);
  CHECK(left[2].region);
  SECTION("nor is a call of a subgraph that was judged as a whole") {
    OperatorRegion& region = *known.further_sources[0].region;
    region.measured.calls.resize(2);
    region.measured.calls[1].index = 4;
    region.expected.calls.resize(1);
    CHECK(not_known_yet({at_call(4)}, known).empty());
    region.expected.calls[0].index = 1;
    CHECK(not_known_yet({at_call(4)}, known).size() == 1);
  }
}

}  // namespace
}  // namespace reprobench
