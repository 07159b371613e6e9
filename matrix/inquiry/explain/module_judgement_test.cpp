#include "matrix/inquiry/explain/module_judgement.hpp"

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"

namespace reprobench {
namespace {

OperatorRecord call_in(const std::string& module, const std::string& name) {
  OperatorRecord call;
  call.name = name;
  call.pass = "forward";
  call.module = module;
  call.outputs = {{"float32", {2}, std::string(32, 'a')}};
  return call;
}

// A GELU in two calls against one, as both ask for the same in fp64.
DifferenceSource of_two_forms() {
  DifferenceSource source;
  source.region.emplace();
  source.region->measured.calls = {call_in("h.0.gelu", "aten::tanh"), call_in("h.0.gelu", "aten::mul")};
  source.region->expected.calls = {call_in("h.0.gelu", "aten::gelu")};
  for (OperatorSubgraph* subgraph : {&source.region->measured, &source.region->expected}) {
    subgraph->outflow = subgraph->calls.back().outputs[0];
  }
  source.budget = OperatorBudget{5e-8, 5e-8, 4e-8, std::nullopt, 1e-17, std::nullopt, std::nullopt};
  return source;
}

ModuleSide side_of(double of_bound) { return {2, of_bound, "aten::tanh", "a book", ""}; }
ModuleSide without_bound() { return {2, 0.5, "aten::tanh", "a book", "no bound is derived for aten::own"}; }

ModuleJudgement judged(const ModuleSide& measured, const ModuleSide& expected,
                       DifferenceSource source = of_two_forms()) {
  judge_module(source, measured, expected);
  return *source.module;
}

TEST_CASE("a module is rounding only if every call of both sides is within its bound", "[module]") {
  CHECK(judged(side_of(0.9), side_of(0.1)).sentence ==
        "`h.0.gelu` (forward): every call stays within its bound, 2 on the measured side, up to 0.9 of it in "
        "aten::tanh and 2 on the expected side, up to 0.1 of it in aten::tanh, and in fp64, on equal values, the two "
        "subgraphs make the same");
  const ModuleSide one{1, 0.1, "aten::gelu", "a book", ""};  // which of them it is needs no word
  CHECK(
      judged(side_of(0.9), one).sentence.find("aten::tanh and 1 on the expected side, up to 0.1 of it, and in fp64") !=
      std::string::npos);
  CHECK(judged(side_of(1), side_of(0.1)).word == ExplainedWord::rounding);
  CHECK(judged(side_of(1.01), side_of(0.1)).word == ExplainedWord::defect);
  CHECK(judged(side_of(0.1), side_of(1.01)).word == ExplainedWord::defect);
  CHECK(judged(side_of(0.1), side_of(std::nan(""))).word == ExplainedWord::defect);
  CHECK(judged(without_bound(), side_of(0.1)).word == ExplainedWord::undecided);
  CHECK(judged(side_of(0.1), without_bound()).word == ExplainedWord::undecided);
  CHECK(judged(side_of(0.1), without_bound()).sentence ==
        "`h.0.gelu` (forward): no bound: no bound is derived for aten::own (expected side)");
}

TEST_CASE("a call beyond its bound is a defect beside one that has none", "[module]") {
  ModuleSide both = without_bound();
  both.of_bound = 3;
  const auto found = judged(both, without_bound());
  CHECK(found.word == ExplainedWord::defect);
  CHECK(found.sentence ==
        "`h.0.gelu` (forward): off by more than it can round: aten::tanh on the measured side by 3 times the bound (a "
        "book)");
}

TEST_CASE("calls within their bounds that ask for something else are another computation", "[module]") {
  DifferenceSource source = of_two_forms();
  SECTION("in fp64") { source.budget->forms_apart_rel = 1.01e-9; }
  SECTION("by a number that is none") { source.budget->forms_apart_rel = std::nan(""); }
  SECTION("in a type") { source.region->measured.calls[0].outputs[0].dtype = "bfloat16"; }
  SECTION("by the constants of a view") { source.region->constants_differ = true; }
  CHECK(judged(side_of(0.1), side_of(0.1), source).word == ExplainedWord::another_computation);
}

TEST_CASE("calls within their bounds are undecided where nobody knows what fp64 makes of them", "[module]") {
  DifferenceSource source = of_two_forms();
  SECTION("no budget") {
    source.budget.reset();
    source.no_budget = "the operator has no fp64 form";
    CHECK(judged(side_of(0.1), side_of(0.1), source)
              .sentence.ends_with("not known in fp64: the operator has no fp64 form"));
  }
  SECTION("of one side") { source.budget->forms_apart_rel.reset(); }
  CHECK(judged(side_of(0.1), side_of(0.1), source).word == ExplainedWord::undecided);
}

TEST_CASE("the side that is farther from fp64 is named with its factor, be it the reference", "[module]") {
  DifferenceSource source = of_two_forms();
  CHECK(judged(side_of(0.1), side_of(0.1), source).farther.empty());
  source.budget->expected_error_rel = 33 * 5e-8;
  const auto found = judged(side_of(0.1), side_of(0.1), source);
  CHECK(found.farther == "expected");
  CHECK(*found.farther_factor == Approx(33));
  CHECK(found.sentence.ends_with("; the expected side is 33 times as far from fp64 as the measured one"));
}

TEST_CASE("the module of several taps is what their names begin with", "[module]") {
  OperatorRegion region;
  const auto module = [&](std::vector<std::string> names) {
    region.measured.calls.clear();
    for (const std::string& name : names) region.measured.calls.push_back(call_in(name, "aten::mul"));
    return module_of(region);
  };
  CHECK(module({"h.0.attn.scores", "h.0.attn.mixed"}) == "h.0.attn");
  CHECK(module({"h.1.attn", "h.10.attn"}) == "h");
  CHECK(module({"h.1", "h.1.attn"}) == "h.1");
  CHECK(module({"", "act"}) == "act");
  CHECK(module({"fc1", "act"}) == "act");
  CHECK(module({""}).empty());
  CHECK(module({}).empty());
}

TEST_CASE("what cannot be captured leaves a module without a bound", "[module]") {
  const CellRequest request;
  OperatorSubgraph subgraph = of_two_forms().region->measured;
  SECTION("more calls than a replay captures") {
    CHECK(judge_module_side(subgraph, request, {}, "too many").no_bound == "too many");
  }
  SECTION("a backward node") {
    subgraph.calls[1].name = "MulBackward0";
    CHECK(module_calls(subgraph).size() == 1);
    CHECK(judge_module_side(subgraph, request, {}, "").no_bound == "MulBackward0 cannot be called by itself");
  }
  SECTION("calls that make nothing on record") {
    for (OperatorRecord& call : subgraph.calls) call.outputs[0].digest.clear();
    CHECK(module_calls(subgraph).empty());
    CHECK(judge_module_side(subgraph, request, {}, "").no_bound == "what aten::tanh, aten::mul made is not on record");
  }
  SECTION("a side that passes the value on has nothing to judge") {
    subgraph.calls.clear();
    CHECK(is_within(judge_module_side(subgraph, request, {}, "")));
  }
}

TEST_CASE("a right decomposition with a call that is off by more than it can round is a defect at its module",
          "[explanation]") {
  ScriptedReplays replays;
  const bool is_measured = GENERATE(true, false);
  const char* stack = is_measured ? "stack-b" : "stack-a";
  replays.stacks[stack] = {{"decomposed act", 4, 4, -1, times(1)},
                           {"forward act aten::div", 4, 4, 3, times(1 + 0x1p-20)}};
  const auto comparison = compare_stacks(replays, explained(GENERATE(0, 8)));
  const Explanation& found = *comparison.explanation;
  CHECK_FALSE(found.call);
  CHECK(*found.budget->forms_apart_rel < 1e-15);
  REQUIRE(found.module);
  CHECK(found.module->word == ExplainedWord::defect);
  const ModuleSide& bad = is_measured ? found.module->measured : found.module->expected;
  CHECK(bad.call == "aten::div");
  CHECK(*bad.of_bound > 1);
  CHECK(found.diagnosis->word == ExplainedWord::defect);
  CHECK(has(found.diagnosis->sentence,
            fmt::format("at `act` (forward): off by more than it can round: aten::div on the {} side by ",
                        is_measured ? "measured" : "expected")));
}

std::function<void(const ReplayTask&, ReplayOutcome&)> divisions_of(
    const char* purpose, const std::function<void(OperatorRecord&)>& change) {
  return [=](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose != purpose) return;
    change_calls(outcome, [&](OperatorRecord& call) {
      if (call.name == "aten::div") change(call);
    });
  };
}

TEST_CASE("a module with a call that has no bound is never within one, and says which call it is", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"decomposed act", 4, 4, -1, times(1)}};
  replays.spoil = divisions_of("a-operators", [](OperatorRecord& call) { call.name = "aten::own_div"; });
  const int batches = GENERATE(0, 8);
  const auto comparison = compare_stacks(replays, explained(batches));
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.module);
  CHECK(found.module->word == ExplainedWord::undecided);
  CHECK(found.module->measured.no_bound == "no bound is derived for aten::own_div");
  CHECK(found.module->measured.of_bound);  // of the calls that have one
  CHECK(
      has(found.module->sentence, "`act` (forward): no bound: no bound is derived for aten::own_div (measured side)"));
  CHECK_FALSE(has(found.diagnosis->sentence, "within"));
  CHECK(found.diagnosis->word == (batches == 0 ? ExplainedWord::undecided : ExplainedWord::rounding));
  CHECK(has(found.diagnosis->sentence, "no bound is derived for aten::own_div"));
}

TEST_CASE("a module whose calls are too large to capture is not judged by some of them", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-a"] = {{"decomposed act", 4, 4, -1, times(1)}};
  replays.spoil = divisions_of("b-operators", [](OperatorRecord& call) { call.inputs.at(0).shape = {1 << 28}; });
  const auto comparison = compare_stacks(replays, explained(0));
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.module);
  CHECK(found.module->word == ExplainedWord::undecided);
  CHECK(found.module->expected.no_bound == "its calls were not captured: 32 of them and 1024 MiB are at most");
  CHECK_FALSE(found.module->expected.of_bound);
  CHECK(found.diagnosis->word == ExplainedWord::undecided);
}

}  // namespace
}  // namespace reprobench
