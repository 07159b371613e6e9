#include "matrix/inquiry/explain/source_diagnosis.hpp"

#include <limits>

#include "ci/catch.hpp"
#include "matrix/inquiry/explain/module_judgement.hpp"

namespace reprobench {
namespace {

LocalError off_by(double of_bound) {
  LocalError error;
  error.of_bound = of_bound;
  error.source = "a book";
  return error;
}

// One product that made other bits out of equal inputs, within its bound on both sides; the steps say rounding.
Explanation of_one_call() {
  Explanation explanation;
  OperatorDivergence call;
  call.measured.name = call.expected.name = "aten::mm";
  call.measured.outputs = call.expected.outputs = {{"float32", {2}, std::string(32, 'a')}};
  explanation.call = call;
  explanation.budget = OperatorBudget{5e-8, 5e-8, 4e-8, std::nullopt, std::nullopt, off_by(0.5), off_by(0.25)};
  explanation.lockstep = Lockstep{};
  explanation.lockstep->word = LockstepWord::rounding;
  return explanation;
}

std::optional<Diagnosis> source_diagnosis(Explanation explanation) {
  diagnose_sources(explanation);
  return explanation.diagnosis;
}

std::string told(const Explanation& explanation) {
  const auto diagnosis = source_diagnosis(explanation);
  REQUIRE(diagnosis);
  return std::string(to_string(diagnosis->word)) + ": " + diagnosis->sentence;
}

TEST_CASE("a call within its bound on both sides is rounding, and the steps confirm it", "[diagnosis]") {
  CHECK(told(of_one_call()) ==
        "rounding: aten::mm stays within its bound on both sides, 0.5 and 0.25 of it, and the steps against fp64 "
        "confirm it");
}

TEST_CASE("what a backward pass takes of two places that make up for each other needs the steps", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.needs_steps = true;
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::rounding);
  explanation.lockstep.reset();
  CHECK(told(explanation) ==
        "undecided: aten::mm stays within its bound on both sides, 0.5 and 0.25 of it; the backward pass takes its "
        "results, and no step was held against fp64");
}

TEST_CASE("an error of the bound is rounding still, and of more than the bound a defect, on either side",
          "[diagnosis]") {
  const bool is_measured = GENERATE(true, false);
  Explanation explanation = of_one_call();
  auto& side = is_measured ? explanation.budget->measured : explanation.budget->expected;
  side = off_by(1);
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::rounding);
  side = off_by(1.01);
  CHECK(told(explanation) == std::string("defect: aten::mm is off by more than it can round: on the ") +
                                 (is_measured ? "measured" : "expected") + " side by 1.01 times the bound (a book)");
  side = off_by(std::numeric_limits<double>::infinity());
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::defect);
}

TEST_CASE("orders of summation that give both results prove rounding, and are told instead of bounds", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.budget->order = OrderJudgement{OrderWord::proven, "aten::mm adds in another order, proven: a against b"};
  CHECK(told(explanation) ==
        "rounding: aten::mm adds in another order, proven: a against b, and the steps against fp64 confirm it");
  // A proof needs no bound; and beyond one it is none.
  explanation.budget->measured.reset();
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::rounding);
  explanation.lockstep.reset();
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::rounding);
  explanation.budget->measured = off_by(1.01);
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::defect);
}

TEST_CASE("a proof says by how much the bound alone would have been too wide, from 20 times on", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.budget->order = OrderJudgement{OrderWord::proven, "another order, proven: a against b"};
  const auto said_of = [&](double ours, double theirs) {
    explanation.budget->measured = off_by(ours);
    explanation.budget->expected = off_by(theirs);
    return told(explanation);
  };
  const std::string proof = "rounding: another order, proven: a against b";
  const std::string steps = ", and the steps against fp64 confirm it";
  const std::string loose = "; by its bound alone, 400 times the larger error would pass";
  CHECK(said_of(0.0025, 0.001) == proof + loose + steps);
  CHECK(said_of(0, 0.0025) == proof + loose + steps);
  CHECK(said_of(0.001, 0.05) == proof + steps);  // 20 times is not over 20 times
  CHECK(said_of(0.04, 0.001) != proof + steps);
  CHECK(said_of(0, 0) == proof + steps);
}

TEST_CASE("a result that its own order does not give is a defect, however far within its bound", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.budget->order = OrderJudgement{OrderWord::broken, "aten::_softmax: element 7 is not what it gives"};
  CHECK(told(explanation) == "defect: aten::_softmax: element 7 is not what it gives");
  CHECK(is_shown_by_a_call(explanation));
  explanation.budget->measured = off_by(1.01);
  CHECK_THAT(told(explanation), Catch::StartsWith("defect: aten::mm is off by more than it can round"));
}

TEST_CASE("where no order proves rounding, it is said why not", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.budget->order = OrderJudgement{OrderWord::unknown, "not proven: it is no sum"};
  CHECK(told(explanation) ==
        "rounding: aten::mm stays within its bound on both sides, 0.5 and 0.25 of it, and the steps against fp64 "
        "confirm it; not proven: it is no sum");
}

TEST_CASE("what is no rounding is not excused by an order that is not known", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.budget->order = OrderJudgement{OrderWord::unknown, "not proven: it is no sum"};
  explanation.budget->measured = off_by(1.01);
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::defect);
  CHECK(told(explanation).find("not proven") == std::string::npos);
}

TEST_CASE("other constants or types are another computation, whatever the errors are", "[diagnosis]") {
  Explanation explanation = of_one_call();
  SECTION("constants") { explanation.call->constants_differ = true; }
  SECTION("types") { explanation.call->measured.outputs[0].dtype = "bfloat16"; }
  SECTION("fp64 forms") { explanation.budget->forms_apart_rel = 1.01e-9; }
  SECTION("fp64 forms whose distance is no number") {
    explanation.budget->forms_apart_rel = std::numeric_limits<double>::quiet_NaN();
  }
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::another_computation);
  explanation.budget->measured = off_by(100);
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::another_computation);
}

TEST_CASE("fp64 forms that are as near as fp64 rounds are the same computation", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.budget->forms_apart_rel = 1e-9;
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::rounding);
}

TEST_CASE("a call without a bound is judged by the steps alone, and the diagnosis says so", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.budget->expected = LocalError{};
  explanation.budget->expected->no_bound = "no bound is derived for aten::mm";
  CHECK(told(explanation) == "rounding: by the steps against fp64 alone; no bound is derived for aten::mm");
  explanation.lockstep.reset();
  CHECK(told(explanation) == "undecided: no bound is derived for aten::mm");
}

TEST_CASE("steps that contradict a call within its bound are a defect, and the call is not blamed", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.lockstep->word = LockstepWord::defect;
  explanation.lockstep->sentence = "1 of 8 tensors shows it";
  CHECK(told(explanation) ==
        "defect: the steps against fp64 say so (1 of 8 tensors shows it), and every call on record that makes a "
        "difference stays within its own "
        "bound: none is blamed");
  diagnose_sources(explanation);
  CHECK(blamed_operator(explanation).empty());
  CHECK(source_diagnosis(explanation, explanation).word == ExplainedWord::rounding);
  explanation.lockstep->word = LockstepWord::undecided;
  CHECK(told(explanation).starts_with("undecided: the steps against fp64 do not decide; aten::mm stays within"));
}

// A gradient of which pooling alone says defect.
LockstepTensor unlucky_sum() {
  LockstepTensor tensor;
  tensor.name = "gradient/ln_f.bias";
  tensor.word = LockstepWord::defect;
  tensor.error_ratio = 0.3;
  tensor.error_ratio_bound = 3;
  tensor.pooled.emplace();
  tensor.pooled->ratio = 1.84;
  tensor.pooled->decision = BudgetDecision::defect;
  return tensor;
}

TEST_CASE("what pooling alone finds is another order of summation where every call stays within its bound",
          "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.lockstep->word = LockstepWord::defect;
  LockstepTensor fine;
  fine.word = LockstepWord::rounding;
  explanation.lockstep->tensors = {unlucky_sum(), fine};
  explanation.further_sources = {FurtherSource{}};
  static_cast<DifferenceSource&>(explanation.further_sources[0]) = of_one_call();
  explanation.calls_apart = 90;  // of the optimizer
  CHECK(told(explanation)
            .starts_with(
                "rounding: aten::mm stays within its bound on both sides, 0.5 and 0.25 of it, as does every call that "
                "makes "
                "gradients differ; that pooled over all batches one side is farther from fp64 comes of its order of "
                "summation"));
  LockstepTensor& tensor = explanation.lockstep->tensors[0];
  FurtherSource& behind = explanation.further_sources[0];
  SECTION("a batch beyond class B2") { tensor.error_ratio = 3.1; }
  SECTION("an error that is no number") { tensor.error_ratio = std::numeric_limits<double>::quiet_NaN(); }
  SECTION("a defect that pooling does not see") { tensor.pooled->decision = BudgetDecision::rounding; }
  SECTION("a tensor that is not pooled") { tensor.pooled.reset(); }
  SECTION("a NaN on one side") { tensor.nan_mismatches = 1; }
  SECTION("an infinity on one side") { tensor.inf_mismatches = 1; }
  SECTION("another tensor that cannot be judged") { explanation.lockstep->tensors[1].word = LockstepWord::undecided; }
  SECTION("no tensor at all") { explanation.lockstep->tensors.clear(); }
  SECTION("no tensor that shows it") { tensor.word = LockstepWord::rounding; }
  SECTION("a gradient made of values that differ already") { explanation.gradient_calls_apart = 1; }
  SECTION("a source that nobody looked at") { explanation.sources_left_out = 1; }
  SECTION("a source without a bound") { behind.budget->measured->of_bound.reset(); }
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::defect);
}

TEST_CASE("a subgraph that rounds by itself does not contradict what pooling alone finds, and another one does",
          "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.lockstep->word = LockstepWord::defect;
  explanation.lockstep->tensors = {unlucky_sum()};
  explanation.further_sources = {FurtherSource{}};
  FurtherSource& behind = explanation.further_sources[0];
  static_cast<DifferenceSource&>(behind) = of_one_call();
  behind.call.reset();
  behind.region.emplace().measured.calls.emplace_back();
  ModuleJudgement& module = behind.module.emplace();
  module.word = ExplainedWord::rounding;
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::rounding);
  SECTION("not rounding by itself") {
    module.word = GENERATE(ExplainedWord::undecided, ExplainedWord::another_computation, ExplainedWord::defect);
  }
  SECTION("that nobody judged") { behind.module.reset(); }
  SECTION("without fp64") { behind.budget.reset(); }
  SECTION("whose results the backward pass takes") { behind.needs_steps = true; }
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::defect);
}

TEST_CASE("the side that is four times as far from fp64 is named, be it the reference", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.budget->expected_error_rel = 4 * 5e-8;
  CHECK(told(explanation).ends_with("; the expected side is 4 times as far from fp64 as the measured one"));
  explanation.budget->expected_error_rel = 3.9 * 5e-8;
  CHECK(told(explanation).ends_with("confirm it"));
  explanation.budget->measured_error_rel = 1e-6;
  CHECK(told(explanation).ends_with("; the measured side is 5.13 times as far from fp64 as the expected one"));
}

TEST_CASE("without a call and without a subgraph there is no diagnosis", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.call.reset();
  CHECK_FALSE(source_diagnosis(explanation));
  explanation.region = OperatorRegion{};
  CHECK(source_diagnosis(explanation));
}

FurtherSource further(const std::string& name, double of_bound) {
  FurtherSource source;
  static_cast<DifferenceSource&>(source) = of_one_call();
  source.call->measured.name = source.call->expected.name = name;
  source.call->measured.pass = "optimizer";
  source.call->measured.module = "fc2.weight";
  source.budget->measured = off_by(of_bound);
  return source;
}

TEST_CASE("a subgraph that rounds is named by its module, and without one as a subgraph of none", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.call.reset();
  explanation.region.emplace();
  ModuleJudgement& judged = explanation.module.emplace();
  judged.word = ExplainedWord::rounding;
  judged.measured.of_bound = 0.5;
  judged.module = "h.0.gelu";
  CHECK(told(explanation).starts_with("rounding: at `h.0.gelu` every call stays within its bound"));
  judged.module.clear();
  CHECK(told(explanation).starts_with("rounding: at calls of no module every call stays within its bound"));
}

TEST_CASE("of what was judged on substituted inputs the diagnosis says so", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.further_sources = {further("aten::mul_", 3)};
  explanation.further_sources[0].on_substituted_inputs = true;
  CHECK(told(explanation)
            .starts_with("defect: behind the first difference, aten::mul_ (optimizer of `fc2.weight`), on "
                         "the values of the expected side: aten::mul_ is off"));
}

TEST_CASE("a defect behind a first difference that is rounding is the diagnosis, and named", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.further_sources = {further("aten::add", 0.5), further("aten::mul_", 3)};
  CHECK(told(explanation) ==
        "defect: behind the first difference, aten::mul_ (optimizer of `fc2.weight`): aten::mul_ is off by more than "
        "it can round: on the measured side by 3 times the bound (a book); the first one by itself: rounding; 2 "
        "further sources in that step: 1 defect, 1 rounding");
  diagnose_sources(explanation);
  CHECK(blamed_source(explanation).call->measured.name == "aten::mul_");
  CHECK(explanation.further_sources[0].diagnosis.word == ExplainedWord::rounding);
}

TEST_CASE("another computation first hides no defect behind it", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.call->constants_differ = true;
  explanation.further_sources = {further("aten::mul_", 3)};
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::defect);
  explanation.further_sources = {further("aten::mul_", 0.5)};
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::another_computation);
  CHECK(source_diagnosis(explanation)->sentence.starts_with("the constants of aten::mm differ"));
}

TEST_CASE("other constants behind the first difference are another computation", "[diagnosis]") {
  Explanation explanation = of_one_call();
  FurtherSource source = further("aten::native_layer_norm", 0.5);
  source.inputs_agree = false;
  source.budget.reset();
  source.call->constants_differ = true;
  source.call->measured.constants = "1.1e-05";
  source.call->expected.constants = "1e-05";
  explanation.further_sources = {source};
  CHECK(told(explanation)
            .starts_with("another computation: behind the first difference, aten::native_layer_norm "
                         "(optimizer of `fc2.weight`): the constants of aten::native_layer_norm differ: "
                         "1.1e-05 against 1e-05"));
}

TEST_CASE("where every source is rounding the diagnosis is about the first", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.further_sources = {further("aten::mul_", 0.5)};
  CHECK(told(explanation) ==
        "rounding: aten::mm stays within its bound on both sides, 0.5 and 0.25 of it, and the steps against fp64 "
        "confirm it; 1 further source in that step: 1 rounding");
}

TEST_CASE("a further source without a bound is not rounding unless the steps say so", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.further_sources = {further("aten::mul_", 0.5)};
  explanation.further_sources[0].budget.reset();
  explanation.further_sources[0].no_budget = "not captured";
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::rounding);
  explanation.lockstep.reset();
  CHECK(told(explanation).starts_with("undecided: behind the first difference, aten::mul_"));
}

TEST_CASE("steps that contradict are a defect of the source whose operator shows one", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.lockstep->word = LockstepWord::defect;
  explanation.further_sources = {further("aten::mul_", 3)};
  CHECK(told(explanation).starts_with("defect: behind the first difference, aten::mul_"));
  diagnose_sources(explanation);
  CHECK(blamed_operator(explanation) == "aten::mul_");
  explanation.further_sources = {further("aten::mul_", 0.5)};
  CHECK(told(explanation).starts_with("defect: the steps against fp64 say so ("));
  CHECK(told(explanation).ends_with("none is blamed; 1 further source in that step: 1 rounding"));
}

TEST_CASE("of what the steps show a call without a bound is blamed before one within its own", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.lockstep->word = LockstepWord::defect;
  explanation.further_sources = {further("aten::mul_", 0.5)};
  explanation.further_sources[0].budget.reset();
  explanation.further_sources[0].no_budget = "no bound is derived for it";
  CHECK(told(explanation)
            .starts_with("defect: behind the first difference, aten::mul_ (optimizer of `fc2.weight`): the steps "
                         "against fp64 say so; no bound is derived for it"));
  diagnose_sources(explanation);
  CHECK(blamed_operator(explanation) == "aten::mul_");
}

TEST_CASE("another computation leads before a call within its bound, whatever the steps say", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.lockstep->word = LockstepWord::defect;
  explanation.further_sources = {further("aten::mul_", 0.5)};
  explanation.further_sources[0].call->constants_differ = true;
  CHECK(told(explanation).starts_with("another computation: behind the first difference, aten::mul_"));
}

TEST_CASE("of a replay that took another course than its run nothing is called rounding", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.not_reproduced = {"stack-b"};
  CHECK(told(explanation) ==
        "undecided: not judged: the replay of stack-b took another course than the run; of the replay: aten::mm stays "
        "within its bound on both sides, 0.5 and 0.25 of it, and the steps against fp64 confirm it");
  explanation.call->constants_differ = true;
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::another_computation);
  explanation.call.reset();
  CHECK(told(explanation) == "undecided: not judged: the replay of stack-b took another course than the run");
  explanation.not_reproduced.clear();
  CHECK_FALSE(source_diagnosis(explanation));
}

TEST_CASE("sources that are left out are rounding only if the steps say so", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.further_sources = {further("aten::mul_", 0.5)};
  explanation.sources_left_out = 7;
  CHECK(told(explanation).ends_with("8 further sources in that step: 1 rounding, 7 not judged"));
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::rounding);
  explanation.lockstep.reset();
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::undecided);
}

TEST_CASE("a source behind a state that differed before has a diagnosis of its own", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.call.reset();
  explanation.budget.reset();
  explanation.further_sources = {further("aten::mul_", 3)};
  CHECK(told(explanation) ==
        "defect: behind the first difference, aten::mul_ (optimizer of `fc2.weight`): aten::mul_ is off by more than "
        "it can round: on the measured side by 3 times the bound (a book); 1 further source in that step: 1 defect");
}

TEST_CASE("no call behind a state that differed before is blamed for what the steps say", "[diagnosis]") {
  Explanation explanation = of_one_call();
  explanation.call.reset();
  explanation.budget.reset();
  explanation.further_sources = {further("aten::mul_", 0.5)};
  explanation.lockstep->word = GENERATE(LockstepWord::defect, LockstepWord::rounding, LockstepWord::undecided);
  CHECK_FALSE(source_diagnosis(explanation));
  diagnose_sources(explanation);
  CHECK((explanation.further_sources[0].diagnosis.word == ExplainedWord::undecided) ==
        (explanation.lockstep->word == LockstepWord::undecided));
}

// Attention that scales its factors before the product against one that scales the product: two products are a pair in
// the backward pass, and what they take is three times apart by right.
Explanation of_calls_named_alike() {
  Explanation explanation = of_one_call();
  explanation.call.reset();
  explanation.lockstep_state = 4;
  explanation.lockstep->batches = 2;
  OperatorRegion& region = explanation.region.emplace();
  for (OperatorSubgraph* subgraph : {&region.measured, &region.expected}) {
    subgraph->outflow = {"float32", {2}, std::string(32, 'a')};
    subgraph->at.name = "aten::bmm";
    subgraph->at.pass = "backward";
    subgraph->at.step = 5;
    subgraph->calls.emplace_back().pass = "backward";
  }
  explanation.budget->measured_error_rel = 3;
  explanation.budget->forms_apart_rel = 3;
  judge_module(explanation, {}, {});
  REQUIRE(explanation.module->word == ExplainedWord::another_computation);
  return explanation;
}

TEST_CASE("what the backward passes' values lie apart in earnest is denied by gradients that do not show it",
          "[diagnosis]") {
  Explanation explanation = of_calls_named_alike();
  CHECK(told(explanation) ==
        "rounding: by the steps against fp64 alone; at calls of no module (backward): in fp64 the values that "
        "aten::bmm takes on the two sides are 3.00e+00 apart, and no gradient of the same step shows it: the two calls "
        "have a name and a shape in common, not a value");
  diagnose_sources(explanation);
  CHECK(explanation.module->word == ExplainedWord::undecided);
  CHECK(explanation.module->farther.empty());
  FurtherSource& behind = explanation.further_sources.emplace_back();
  static_cast<DifferenceSource&>(behind) = of_calls_named_alike();
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::rounding);
}

TEST_CASE("gradients deny nothing that they might not show", "[diagnosis]") {
  Explanation explanation = of_calls_named_alike();
  OperatorRegion& region = *explanation.region;
  SECTION("so small that rounding hides it") { explanation.budget->forms_apart_rel = 0.99e-3; }
  SECTION("a value that the forward pass takes") { region.expected.at.pass = "forward"; }
  SECTION("a value that the update takes") { region.measured.at.pass = "optimizer"; }
  SECTION("a value that nothing takes") { region.measured.is_taken = false; }
  SECTION("of a step before those that are held against fp64") { region.measured.at.step = 4; }
  SECTION("of a step behind them") { region.expected.at.step = 7; }
  SECTION("no step is held against fp64") { explanation.lockstep.reset(); }
  SECTION("the steps do not decide") { explanation.lockstep->word = LockstepWord::undecided; }
  SECTION("the steps show a defect") { explanation.lockstep->word = LockstepWord::defect; }
  SECTION("another type") { region.measured.outflow.dtype = "bfloat16"; }
  SECTION("a call beyond its bound") { explanation.module->measured.of_bound = 1.5; }
  CHECK(source_diagnosis(explanation)->word == ExplainedWord::another_computation);
}

}  // namespace
}  // namespace reprobench
