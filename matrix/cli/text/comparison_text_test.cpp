// A comparison's text as a whole, and the lines that stand only where there is something to say.
#include "matrix/cli/text/comparison_text.hpp"

#include <limits>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

OperatorTensor tensor_of(const std::string& digest, const std::string& dtype = "float32") {
  return {dtype, {2, 3}, digest, 0};
}

OperatorRecord call_of(const std::string& name, const std::string& module, std::int64_t index) {
  OperatorRecord call;
  call.step = 7;
  call.index = index;
  call.name = name;
  call.pass = "forward";
  call.module = module;
  call.inputs = {tensor_of("aa"), tensor_of(""), tensor_of("bb", "bfloat16")};
  call.outputs = {tensor_of("cc"), tensor_of("dd")};
  call.constants = "1e-05";
  return call;
}

CellComparison plain_comparison(Match word) {
  CellComparison comparison;
  comparison.measured_name = "stack-b";
  comparison.expected_name = "stack-a";
  comparison.workload = "mlp/default, 6 steps of 32, fp32";
  comparison.word = word;
  comparison.sentence = "what came out";
  comparison.trace.steps_compared = 6;
  comparison.trace.steps_differing = 2;
  return comparison;
}

std::string text_of(const CellComparison& comparison) { return to_text(comparison, Terminal()); }

// What stands between the first two lines of a comparison that differs and the suspect's.
std::string explained(const Explanation& explanation) {
  CellComparison comparison = plain_comparison(Match::differs);
  comparison.explanation = explanation;
  const std::string text = text_of(comparison);
  const std::string head = text_of(plain_comparison(Match::differs));
  REQUIRE(text.starts_with(head));
  const std::string suspect = "  suspect\n";
  REQUIRE(text.find(suspect) != std::string::npos);
  return text.substr(head.size(), text.size() - head.size() - suspect.size());
}

TEST_CASE("what is equal passes, what differs fails, what cannot be compared is undecided", "[cli]") {
  CHECK(exit_code_of(Match::equal) == ExitCode::passed);
  CHECK(exit_code_of(Match::differs) == ExitCode::failed);
  CHECK(exit_code_of(Match::not_comparable) == ExitCode::undecided);
}

TEST_CASE("two cells of equal bits are two lines", "[cli]") {
  CHECK(text_of(plain_comparison(Match::equal)) ==
        "stack-b against stack-a: mlp/default, 6 steps of 32, fp32\n"
        "  equal       what came out\n");
}

TEST_CASE("a comparison's word has its colour", "[cli]") {
  Terminal terminal;
  terminal.configure(ColorChoice::always, false);
  const auto second_line = [&](Match word) {
    const std::string text = to_text(plain_comparison(word), terminal);
    return text.substr(text.find('\n') + 1);
  };
  const auto painted = [&](const char* word, Style style, const char* blanks) {
    return "  " + terminal.paint(word, style) + blanks + "what came out\n";
  };
  CHECK(second_line(Match::equal) == painted("equal", Style::green, "       "));
  CHECK(second_line(Match::differs) == painted("differs", Style::yellow, "     "));
  CHECK(second_line(Match::not_comparable) == painted("not_comparable", Style::cyan, " "));
}

TEST_CASE("what the traces show is said in the order in which a difference grows", "[cli]") {
  CellComparison comparison = plain_comparison(Match::differs);
  comparison.trace.first = Divergence{};
  CellRatio ratio;
  ratio.metric = "throughput.step_time";
  ratio.sentence = "x1.02 [1.01, 1.03]";
  comparison.ratios = {ratio};
  comparison.differences = {{"torch", "2.9.0", "2.8.0"}, {"knob tf32", "", "1"}};
  comparison.over_bound = OverBound{3, TensorRole::parameter_gradient, "fc1.weight", 1.25e-3, 5e-5};
  comparison.events = {{"relu_active", true, 4, 12, 2}, {"max_index", false, 5, 1, 1}};
  comparison.split = LossSplit{4, 0.0123, 4.5e-7, "relu_active"};
  comparison.trajectory = TrajectoryJudgement{};
  comparison.trajectory->word = "inside";
  comparison.trajectory->sentence = "every step lies in the envelope";
  comparison.trajectory->growth = Growth{1.5, 0.1, 6.93, 5};
  comparison.equivalence = LossEquivalence{};
  comparison.equivalence->sentence = "equivalent within 1 %";
  CHECK(text_of(comparison) ==
        "stack-b against stack-a: mlp/default, 6 steps of 32, fp32\n"
        "  differs     what came out\n"
        "  steps       2 of 6 differ\n"
        "  throughput  throughput.step_time: x1.02 [1.01, 1.03]\n"
        "  changed     torch: `2.9.0` against `2.8.0`\n"
        "  changed     knob tf32: none against `1`\n"
        "  over bound  first at step 3: parameter_gradient `fc1.weight` is 0.00125 away, the bound is 5e-05\n"
        "  flips       mask `relu_active`: about 12 elements at step 4, 2 steps with flips\n"
        "  flips       choice `max_index`: about 1 elements at step 5, 1 steps with flips\n"
        "  loss        splits at step 4: 0.012 apart, 4.5e-07 before; mask `relu_active` flipped there\n"
        "  trajectory  inside: every step lies in the envelope\n"
        "              grows as step^1.50, doubling every 6.93 steps\n"
        "  loss curves equivalent within 1 %\n");
  comparison.split->event.clear();
  comparison.trajectory->growth.reset();
  CHECK(text_of(comparison)
            .find("4.5e-07 before\n  trajectory  inside: every step lies in the envelope\n  loss curves") !=
        std::string::npos);
}

TEST_CASE("changes that many pairs share are listed with the first of them", "[cli]") {
  PairsText pairs;
  CellComparison comparison = plain_comparison(Match::differs);
  const auto next = [&](const std::string& measured, std::vector<SideDifference> differences) {
    comparison.measured_name = measured;
    comparison.differences = std::move(differences);
    return pairs.next(comparison, Terminal{});
  };
  const SideDifference torch{"torch", "2.9.0", "2.8.0"};
  const std::string torch_line = "  changed     torch: `2.9.0` against `2.8.0`\n";
  CHECK_THAT(next("cell-a", {torch}), Contains(torch_line));
  CHECK_THAT(next("cell-b", {torch}), Contains("  changed     as in cell-a\n") && !Contains("torch:"));
  CHECK_THAT(next("cell-c", {}), !Contains("changed"));
  CHECK_THAT(next("cell-d", {torch, {"knob tf32", "", "1"}}), Contains(torch_line) && Contains("knob tf32"));
  CHECK_THAT(next("cell-e", {}), !Contains("changed"));
  CHECK_THAT(next("cell-f", {{"torch", "2.9.1", "2.8.0"}}), Contains("`2.9.1`"));
}

TEST_CASE("a call that diverges is shown with what it took and made", "[cli]") {
  Explanation explanation;
  OperatorDivergence divergence;
  divergence.measured = call_of("aten::linear", "fc1", 12);
  divergence.expected = divergence.measured;
  divergence.expected.outputs[1].digest = "ee";
  divergence.expected.constants = "1.1e-05";
  divergence.output = 1;
  explanation.call = divergence;
  const std::string call =
      "  operator    aten::linear in the forward of `fc1`, call 12 of step 7; all 3 inputs agree\n"
      "              input float32 [2 x 3]  aa\n"
      "              input bfloat16 [2 x 3]  bb\n"
      "              output       dd against ee\n";
  CHECK(explained(explanation) == call);
  explanation.call->constants_differ = true;
  explanation.call->calls_unmatched = 4;
  CHECK(explained(explanation) == call +
                                      "              its constants differ: 1e-05 against 1.1e-05\n"
                                      "              4 calls have no partner: the releases take different operators\n");
  explanation.call->measured.module.clear();
  CHECK(explained(explanation).starts_with("  operator    aten::linear in the forward of `-`, call 12"));
}

TEST_CASE("two subgraphs are shown call by call, and how they differ in kind", "[cli]") {
  Explanation explanation;
  OperatorRegion region;
  region.measured.calls = {call_of("aten::mul", "act", 3), call_of("aten::add", "", 4)};
  region.measured.calls[1].constants.clear();
  region.measured.calls[1].outputs = {tensor_of("ff", "bfloat16")};
  region.expected.outflow = tensor_of("ee", "float32");
  explanation.region = region;
  CHECK(explained(explanation) ==
        "  operators   2 calls against 0 take equal values and give different ones\n"
        "              measured  aten::mul in the forward of `act`, call 3, constants 1e-05; makes float32 [2 x 3], "
        "float32 [2 x 3]\n"
        "                        aten::add in the forward of `-`, call 4; makes bfloat16 [2 x 3]\n"
        "              expected  nothing: the value passes as it is\n"
        "              bfloat16 on the measured side only\n");
  explanation.region->expected.not_on_record = true;
  CHECK(explained(explanation).find("expected  no call on record: what makes the value is no operator\n") !=
        std::string::npos);
  explanation.region->expected.not_on_record = false;
  std::swap(explanation.region->measured, explanation.region->expected);
  explanation.region->measured.calls = {explanation.region->expected.calls[0]};
  explanation.region->expected.calls.pop_back();
  CHECK(explained(explanation) ==
        "  operators   1 call against 1 take equal values and give different ones\n"
        "              measured  aten::mul in the forward of `act`, call 3, constants 1e-05; makes float32 [2 x 3], "
        "float32 [2 x 3]\n"
        "              expected  aten::mul in the forward of `act`, call 3, constants 1e-05; makes float32 [2 x 3], "
        "float32 [2 x 3]\n");
}

TEST_CASE("a module that takes other operators on each side is shown with its own word", "[cli]") {
  Explanation explanation;
  ModuleJudgement& judged = explanation.module.emplace();
  judged.word = ExplainedWord::defect;
  judged.sentence = "`act` (forward): off by more than it can round";
  CHECK(explained(explanation) == "  module      defect: `act` (forward): off by more than it can round\n");
}

TEST_CASE("an element is shown in its bits, as many as its type has, and how far apart it is", "[cli]") {
  Explanation explanation;
  ElementFinding finding;
  finding.tensor = "fc1.weight before step 20";
  finding.shape = {8, 4};
  finding.type = ElementType::fp32;
  finding.count = 32;
  finding.differing = 5;
  finding.block = 1;
  finding.index = 17;
  finding.measured_bits = "000000003f800001";
  finding.expected_bits = "000000003f800000";
  finding.measured = 1.00000012;
  finding.expected = 1;
  explanation.element = finding;
  const std::string head = "  element     fc1.weight before step 20 [8 x 4], index 17 in block 1: ";
  CHECK(explained(explanation) == head +
                                      "1.00000012 (0x3f800001) against 1 (0x3f800000)\n"
                                      "              5 of 32 elements differ\n");
  explanation.element->ulp = 1;
  explanation.element->max_ulp = 16'777'216;  // still counted
  explanation.element->distance_rms = 0.5;
  explanation.element->max_distance_rms = 0.75;
  CHECK(explained(explanation) == head +
                                      "1.00000012 (0x3f800001) against 1 (0x3f800000), 1 ULP\n"
                                      "              5 of 32 elements differ, by up to 16777216 ULP\n");
  explanation.element->max_ulp = 16'777'217;
  CHECK(explained(explanation).ends_with("5 of 32 elements differ, by up to 0.75 of the tensor's RMS\n"));
  explanation.element->max_distance_rms.reset();
  CHECK(explained(explanation).ends_with("5 of 32 elements differ, by up to 16777217 ULP\n"));
  explanation.element->measured = kNan;
  explanation.element->measured_bits = "000000007fc00000";
  CHECK(explained(explanation).starts_with(head + "nan (0x7fc00000) against 1 (0x3f800000)"));
  explanation.element->type = ElementType::raw64;
  explanation.element->expected = kNan;
  CHECK(explained(explanation).starts_with(head + "0x000000007fc00000 against 0x000000003f800000"));
  explanation.element->type = ElementType::bf16;
  explanation.element->measured = 1;
  explanation.element->measured_bits = "0000000000003f80";
  CHECK(explained(explanation).starts_with(head + "1 (0x3f80) against"));
}

TEST_CASE("errors against fp64 are shown of both sides, or why there are none", "[cli]") {
  Explanation explanation;
  CHECK(explained(explanation).empty());
  explanation.no_budget = "no fp64 on this device";
  CHECK(explained(explanation) == "  fp64        not judged: no fp64 on this device\n");
  OperatorBudget budget;
  budget.measured_error_rel = 1.5e-7;
  budget.expected_error_rel = 2.5e-8;
  budget.distance_rel = 1.25e-7;
  explanation.budget = budget;
  const std::string line =
      "  fp64        error against fp64 of the same inputs: measured 1.50e-07, expected 2.50e-08; 1.25e-07 apart";
  CHECK(explained(explanation) == line + "\n");
  explanation.budget->amplification = 3;
  explanation.budget->forms_apart_rel = 2e-3;
  explanation.budget->measured = LocalError{1e-7, 0.12345, 0, "a sum of 64 terms", ""};
  explanation.budget->expected = LocalError{1e-7, std::nullopt, 0, "", "no bound for aten::foo"};
  CHECK(explained(explanation) == line +
                                      "; a change of its inputs comes out 3 times as large\n"
                                      "              what the two sides ask for, in fp64, is 2.00e-03 apart\n"
                                      "              measured side: up to 0.123 of the bound of its rounding (a sum of "
                                      "64 terms)\n"
                                      "              expected side: no bound for aten::foo\n");
}

TEST_CASE("of a lockstep five tensors are shown, and its other states beneath", "[cli]") {
  Explanation explanation;
  Lockstep lockstep;
  lockstep.word = LockstepWord::defect;
  lockstep.batches = 32;
  lockstep.sentence = "one is wrong";
  for (int i = 0; i < 6; ++i) {
    LockstepTensor tensor;
    tensor.name = "gradient/fc" + std::to_string(i);
    tensor.word = i == 0 ? LockstepWord::defect : LockstepWord::rounding;
    tensor.error_ratio = 1.5 + i;
    tensor.error_ratio_bound = 2;
    lockstep.tensors.push_back(tensor);
  }
  lockstep.tensors[0].pooled = PooledJudgement{};
  lockstep.tensors[0].pooled->ratio = 1.2345;
  lockstep.tensors[0].pooled->bound = 1.1;
  explanation.lockstep = lockstep;
  explanation.lockstep_state = 19;
  explanation.lockstep_states = {{40, LockstepWord::rounding, "all of rounding size"}};
  std::string expected =
      "  lockstep    defect (state after step 19, 32 batches): one is wrong\n"
      "              defect     gradient/fc0                       E 1.5 (bound 2), pooled E 1.234 (bound 1.100)\n";
  for (int i = 1; i < 5; ++i) {
    expected +=
        fmt::format("              rounding   gradient/fc{}                       E {}.5 (bound 2)\n", i, i + 1);
  }
  CHECK(explained(explanation) == expected + "              after step 40: rounding, all of rounding size\n");
  explanation.lockstep->tensors.resize(1);
  explanation.lockstep_state.reset();
  explanation.lockstep_states.clear();
  CHECK(explained(explanation).starts_with("  lockstep    defect (state after step 0, 32 batches)"));
}

FurtherSource further_source(const std::string& name, ExplainedWord word, const std::string& sentence) {
  FurtherSource source;
  source.call = OperatorDivergence{};
  source.call->measured = source.call->expected = call_of(name, "fc2.weight", 61);
  source.diagnosis = {word, sentence};
  return source;
}

TEST_CASE("sources behind the first stand beneath it, those that only round last, and what was not judged", "[cli]") {
  Explanation explanation;
  explanation.further_sources = {further_source("aten::sub", ExplainedWord::rounding, "within"),
                                 further_source("aten::mul_", ExplainedWord::defect, "beyond")};
  explanation.calls_apart = 12;
  explanation.further_sources[1].on_substituted_inputs = true;
  CHECK(explained(explanation) ==
        "  beside it   aten::mul_ in the forward of `fc2.weight`, call 61, on the values of the expected side: defect, "
        "beyond\n"
        "              aten::sub in the forward of `fc2.weight`, call 61: rounding, within\n"
        "              12 calls of that step take values that differ already: not judged\n");
  explanation.further_sources.assign(10, explanation.further_sources[0]);
  explanation.calls_apart = 1;
  const std::string many = explained(explanation);
  CHECK(
      many.starts_with("  beside it   aten::sub in the forward of `fc2.weight`, call 61: rounding, within\n"
                       "              aten::sub in the forward of `fc2.weight`, call 61: rounding, as above\n"));
  CHECK(many.find("and 2 more\n") != std::string::npos);
  CHECK(many.ends_with("1 call of that step takes values that differ already: not judged\n"));
}

TEST_CASE("a subgraph behind the first source is named by both sides' calls", "[cli]") {
  Explanation explanation;
  FurtherSource source;
  source.region = OperatorRegion{};
  source.region->expected.calls = {call_of("aten::erf", "act", 4), call_of("aten::mul", "act", 5)};
  source.diagnosis = {ExplainedWord::rounding, "within"};
  explanation.further_sources = {source};
  CHECK(explained(explanation) ==
        "  beside it   nothing against aten::erf, aten::mul in the forward of `act`, call 4: rounding, within\n");
}

TEST_CASE("operations that other library code computed stand beside the libraries that changed", "[cli]") {
  CellComparison comparison = plain_comparison(Match::equal);
  const std::string head = text_of(comparison);
  comparison.implementations.emplace();
  CHECK(text_of(comparison) == head);
  comparison.differences = {{"torch", "2.9.0", "2.8.0"}};
  for (int i = 1; i <= 4; ++i) {
    comparison.implementations->changed.push_back(
        {fmt::format("aten::mm ({},8)", i), "mkl SGEMM for AVX2", "aten AVX512"});
  }
  comparison.implementations->incomplete = {"the measured side's record leaves out 3 rows"};
  const std::string changed =
      "  changed     torch: `2.9.0` against `2.8.0`\n"
      "  done by     aten::mm (1,8): `mkl SGEMM for AVX2` against `aten AVX512`\n"
      "  done by     aten::mm (2,8): `mkl SGEMM for AVX2` against `aten AVX512`\n"
      "  done by     aten::mm (3,8): `mkl SGEMM for AVX2` against `aten AVX512`\n"
      "  done by     aten::mm (4,8): `mkl SGEMM for AVX2` against `aten AVX512`\n";
  const std::string incomplete = "  done by     the measured side's record leaves out 3 rows\n";
  CHECK(text_of(comparison) == head + changed + incomplete);
  comparison.implementations->changed.push_back({"aten::mm (5,8)", "", "aten AVX512"});
  CHECK(text_of(comparison) ==
        head + changed + "              and 1 more operations that other code computed\n" + incomplete);
}

TEST_CASE("the diagnosis comes first, the suspect and notes last", "[cli]") {
  CellComparison comparison = plain_comparison(Match::differs);
  comparison.explanation = Explanation{};
  comparison.explanation->diagnosis = Diagnosis{ExplainedWord::another_computation, "the two ask for different things"};
  comparison.explanation->diverging_operators = {"aten::mm", "aten::sum"};
  comparison.explanation->suspect = {"torch", "torch: it is a kernel of torch itself"};
  comparison.explanation->notes = {"one", "two"};
  const std::string head = text_of(plain_comparison(Match::differs));
  CHECK(text_of(comparison).substr(head.size()) ==
        "  judged      another computation: the two ask for different things\n"
        "              operators of that step with equal inputs and other outputs: aten::mm, aten::sum\n"
        "  suspect     torch: it is a kernel of torch itself\n"
        "  note        one\n"
        "  note        two\n");
  comparison.explanation->diverging_operators.pop_back();  // it is the one that is shown anyway
  CHECK(text_of(comparison).find("operators of that step") == std::string::npos);
}

TEST_CASE("two snapshots are shown tensor by tensor, but for those that are equal", "[cli]") {
  SnapshotComparison comparison;
  comparison.sentence = "3 of 4 tensors differ";
  TensorComparison floats;
  floats.name = "fc1.weight";
  floats.match = Match::differs;
  floats.elements = 100;
  floats.differing = 3;
  floats.rel_l2 = 1.25e-7;
  floats.first = SnapshotPair{17, {json_number(1), "3f800000"}, {json_number(2), "40000000"}, 8'388'608};
  TensorComparison raw = floats;
  raw.name = "rng";
  raw.rel_l2.reset();
  raw.first->ulp.reset();
  TensorComparison other;
  other.name = "step";
  other.match = Match::not_comparable;
  other.reason = "shape [2] against [3]";
  TensorComparison equal;
  equal.name = "equal";
  comparison.tensors = {other, floats, raw, equal};
  comparison.missing = {"only.b"};
  comparison.extra = {"only.a"};
  const std::string pad(34 - 4, ' ');
  CHECK(to_text(comparison) ==
        "3 of 4 tensors differ\n"
        "  step" +
            pad +
            " not comparable: shape [2] against [3]\n"
            "  fc1.weight                         3 of 100 differ, relative L2 1.25e-07; first at 17: 1 (0x3f800000) "
            "against 2 (0x40000000), 8388608 ULP\n"
            "  rng                                3 of 100 differ, relative L2 0; first at 17: 0x3f800000 against "
            "0x40000000\n"
            "  only.b                             only in B\n"
            "  only.a                             only in A\n");
}

}  // namespace
}  // namespace reprobench
