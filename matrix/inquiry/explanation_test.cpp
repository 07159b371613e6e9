#include "matrix/inquiry/explanation.hpp"

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "kernels/mma/mma.hpp"
#include "matrix/inquiry/scripted_replays.hpp"

namespace reprobench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ExplainSettings explained(int batches = 0) {
  ExplainSettings settings;
  settings.explain = true;
  settings.lockstep_batches = batches;
  return settings;
}

// "stack-b" against "stack-a", which is the network as it is.
CellComparison compare(ScriptedReplays& replays, const ExplainSettings& settings,
                       const CellRequest& request = synthetic_request()) {
  return compare_cells(replays.side("stack-b", request), replays.side("stack-a", request), settings, replays);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("two sides of equal bits are equal, and nothing is replayed", "[explanation]") {
  ScriptedReplays replays;
  const auto comparison = compare(replays, explained());
  CHECK(comparison.word == Match::equal);
  CHECK(comparison.sentence == "equal bits in all that 6 steps digested");
  CHECK(replays.calls.empty());
}

TEST_CASE("a difference in a forward output is followed to step, operator, element and ULP", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  const auto comparison = compare(replays, explained());
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
  CHECK(
      comparison.sentence ==
      "equal bits up to step 3; first difference in step 4, forward_output `fc2`; aten::addmm (forward of `fc2`, step "
      "4) made it out of equal inputs; undecided: what is on record of aten::addmm does not give its bound; suspect: "
      "torch");
}

TEST_CASE("each side is replayed up to the difference, and the call captured from its own state", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  compare(replays, explained());
  REQUIRE(replays.calls.size() == 2);
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
  const auto comparison = compare(replays, explained(2));
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
  const auto comparison = compare(replays, explained());
  CHECK(comparison.trace.first->step == 1);
  CHECK(comparison.explanation->call->measured.name == "aten::sum");
  CHECK(comparison.explanation->diverging_operators == std::vector<std::string>{"aten::sum"});
}

TEST_CASE("a state changed between operators has no operator to blame: the changed tensor is shown", "[explanation]") {
  ScriptedReplays replays;
  SECTION("in a later step") {
    replays.stacks["stack-b"] = {{"parameter fc2.weight", 4, 4, 5}};
    const auto comparison = compare(replays, explained());
    CHECK(comparison.trace.first->tensor == "fc2.weight");
    REQUIRE(comparison.explanation);
    CHECK_FALSE(comparison.explanation->call);
    // fc1's tensors differ after step 4, too, and stand before it.
    CHECK(comparison.explanation->element->tensor == "fc2.weight after step 4");
    CHECK(has(comparison.sentence, "no operator made it"));
    REQUIRE(comparison.explanation->notes.size() == 1);
    CHECK(has(comparison.explanation->notes.front(), "before an operator touched it"));
  }
  SECTION("that a replay had already before it began: this state is shown") {
    replays.stacks["stack-b"] = {{"parameter fc2.weight", 4, 4, 5}};
    replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
      if (task.purpose != "a-operators") return;
      std::filesystem::copy_file(outcome.folder / snapshot_file(4), outcome.folder / snapshot_file(2),
                                 std::filesystem::copy_options::overwrite_existing);
    };
    CHECK(compare(replays, explained()).explanation->element->tensor == "fc2.weight after step 2");
  }
  SECTION("in the first step there is none before it to look at") {
    replays.stacks["stack-b"] = {{"parameter fc2.weight", 1, 1, 5}};
    const auto comparison = compare(replays, explained());
    CHECK(replays.calls[0][0].request.replay->operators_from == 1);
    CHECK(comparison.explanation->element->tensor == "fc2.weight after step 1");
  }
  SECTION("the named tensor may be no part of the state: the first that differs is shown") {
    replays.stacks["stack-b"] = {{"input", 4, 4, -1, times(1.5)}};
    const auto comparison = compare(replays, explained());
    CHECK(comparison.trace.first->role == "input");
    CHECK(comparison.explanation->element->tensor == "fc1.bias after step 4");
  }
}

TEST_CASE("other constants of a call are told from another operator", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, -1, times(1.001)},
                               {"constants forward fc1 aten::addmm", 2, 2, 0, becomes(2)}};
  const auto comparison = compare(replays, explained());
  CHECK(comparison.explanation->call->constants_differ);
  CHECK(comparison.explanation->call->measured.constants == "2");
}

TEST_CASE("an answer never says rounding where constants differ, whatever the steps say", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, 0},
                               {"constants forward fc1 aten::addmm", 2, 2, 0, becomes(2)}};
  const auto comparison = compare(replays, explained(8));
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.headline);
  CHECK(found.lockstep->word == LockstepWord::rounding);
  CHECK(found.headline->word == ExplainedWord::another_computation);
  CHECK(has(found.headline->sentence, "the constants of aten::addmm differ: 2 against 1"));
  CHECK_FALSE(has(comparison.sentence, "rounding"));
}

TEST_CASE("the output of an operator beyond the bound of its rounding is a defect of that operator", "[explanation]") {
  ScriptedReplays replays;
  SECTION("of the measured side") { replays.stacks["stack-b"] = {{"forward act aten::relu", 4, 4, 7}}; }
  SECTION("of the expected side") { replays.stacks["stack-a"] = {{"forward act aten::relu", 4, 4, 7}}; }
  const bool is_expected = replays.stacks.count("stack-a") > 0;
  const auto comparison = compare(replays, explained(8));
  const Headline& headline = *comparison.explanation->headline;
  CHECK(headline.word == ExplainedWord::defect);
  CHECK(has(headline.sentence, "aten::relu is off by more than it can round: on the "));
  CHECK(has(headline.sentence, is_expected ? "on the expected side by" : "on the measured side by"));
}

TEST_CASE("sides that take different operators are answered by both stretches, judged in fp64", "[explanation]") {
  ScriptedReplays replays;
  SECTION("another decomposition of the same is rounding") {
    replays.stacks["stack-b"] = {{"decomposed act", 4, 4, -1, times(1)}};
    const auto comparison = compare(replays, explained(8));
    const Explanation& found = *comparison.explanation;
    CHECK_FALSE(found.call);
    REQUIRE(found.region);
    CHECK(names_of(found.region->measured) == "aten::mul, aten::div, aten::clamp_min");
    CHECK(names_of(found.region->expected) == "aten::relu");
    REQUIRE(found.budget);
    CHECK(*found.budget->forms_apart_rel < 1e-15);
    CHECK(found.headline->word == ExplainedWord::rounding);
    CHECK(has(found.headline->sentence, "the two stretches make the same, and the steps against fp64 confirm it"));
    CHECK(has(comparison.sentence,
              "the sides take different operators: aten::mul, aten::div, aten::clamp_min against "
              "aten::relu (forward of `act`, step 4)"));
    CHECK_FALSE(has(comparison.sentence, "no operator made it"));
    CHECK(found.element->tensor == "what aten::mul, aten::div, aten::clamp_min made");
    CHECK(replays.calls[1][0].request.replay->capture->stretch == std::vector<std::int64_t>{1, 2, 3});
    CHECK(replays.calls[1][1].request.replay->capture->stretch == std::vector<std::int64_t>{1});
  }
  SECTION("one with a constant wrong in its 20th bit is another computation") {
    replays.stacks["stack-b"] = {{"decomposed act", 4, 4, -1, times(1 + 0x1p-20)}};
    const auto comparison = compare(replays, explained(8));
    const Explanation& found = *comparison.explanation;
    CHECK(found.headline->word == ExplainedWord::another_computation);
    CHECK(*found.budget->forms_apart_rel == Approx(0x1p-20).epsilon(1e-3));
    CHECK(has(found.headline->sentence, "the measured side is "));
    CHECK(has(found.headline->sentence, " times as far from fp64 as the expected one"));
    CHECK_FALSE(has(comparison.sentence, "; rounding"));
  }
  SECTION("a cast on one side is another computation, and named") {
    replays.stacks["stack-b"] = {{"cast fc1", 4, 4}};
    const auto comparison = compare(replays, explained(8));
    const Explanation& found = *comparison.explanation;
    REQUIRE(found.region);
    CHECK(names_of(found.region->measured) == "aten::_to_copy");
    CHECK(names_of(found.region->expected) == "nothing");
    CHECK(found.headline->word == ExplainedWord::another_computation);
    CHECK(has(found.headline->sentence, "bfloat16 on the measured side only"));
    CHECK(found.budget->expected_error_rel == 0);
  }
}

TEST_CASE("what is not finite on one side has an element and no distance in ULP of NaN", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 4, 3, becomes(-kInfinity)}};  // the ReLU drops it
  const auto comparison = compare(replays, explained());
  CHECK_FALSE(comparison.non_finite);
  const ElementFinding& element = *comparison.explanation->element;
  CHECK(element.index == 3);
  CHECK(element.measured == -kInfinity);
  CHECK_FALSE(element.max_ulp);
}

TEST_CASE("a backward node has no fp64 form, and its element is found nevertheless", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"backward loss MseLossBackward0", 2, 2, 1}};
  const auto comparison = compare(replays, explained());
  CHECK(comparison.explanation->element);
  CHECK_FALSE(comparison.explanation->budget);
  CHECK(comparison.explanation->no_budget == "a backward node cannot be called by itself");
}

template <class Value>
SafetensorsTensor recorded(const std::string& name, const char* dtype, std::vector<std::int64_t> shape,
                           const std::vector<Value>& values) {
  return {name, dtype, std::move(shape), std::as_bytes(std::span(values))};
}

TEST_CASE("an operator's errors are relative to the norm of what it makes in fp64", "[explanation]") {
  // Exact are 3 and 4, whose norm is 5; the one side is off by 0 and 0.5, the other by 0.25 and 0.
  const std::vector<double> exact{3, 4};
  const std::vector<float> ours{3, 4.5F};
  const std::vector<float> theirs{3.25F, 4};
  const std::vector<std::uint16_t> in_bf16{0x4040, 0x4090};
  std::vector<SafetensorsTensor> measured{recorded("output.0", "F32", {2}, ours)};
  std::vector<SafetensorsTensor> expected{recorded("output.0", "F32", {2}, theirs),
                                          recorded("fp64.0", "F64", {2}, exact)};
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    const auto path = outcome.folder / kOperatorTensorsFile;
    if (task.purpose == "a-tensors") write_safetensors(path, measured, {});
    if (task.purpose == "b-tensors") write_safetensors(path, expected, {{"amplification", "2.5"}});
  };
  SECTION("all is there") {
    const Explanation found = *compare(replays, explained()).explanation;
    REQUIRE(found.budget);
    CHECK(found.budget->measured_error_rel == Approx(0.1));
    CHECK(found.budget->expected_error_rel == Approx(0.05));
    CHECK(found.budget->distance_rel == Approx(std::sqrt(0.3125) / 5));
    CHECK(found.budget->amplification == 2.5);
    CHECK(found.element->differing == 2);
  }
  SECTION("no budget, but the elements") {
    SECTION("nothing in fp64") { expected.pop_back(); }
    SECTION("fp32 that calls itself fp64") { expected.back() = recorded("fp64.0", "F32", {2}, theirs); }
    SECTION("another shape") { expected.back() = recorded("fp64.0", "F64", {1, 2}, exact); }
    const Explanation found = *compare(replays, explained()).explanation;
    CHECK(found.no_budget == "the operator has no fp64 form");
    CHECK_FALSE(found.budget);
    CHECK(found.element);
  }
  SECTION("outputs that no element can be compared of") {
    SECTION("another type") { measured.back() = recorded("output.0", "BF16", {2}, in_bf16); }
    SECTION("another shape") { measured.back() = recorded("output.0", "F32", {2, 1}, ours); }
    const Explanation found = *compare(replays, explained()).explanation;
    CHECK(found.no_budget == "the two outputs differ in type or shape");
    CHECK_FALSE(found.budget);
    CHECK_FALSE(found.element);
  }
  SECTION("one side left no output") {
    (GENERATE(true, false) ? measured : expected).front().name = "output.1";
    const Explanation found = *compare(replays, explained()).explanation;
    CHECK_FALSE(found.budget);
    CHECK_FALSE(found.element);
  }
}

// What each side made of one product, beside the fp64 form it was asked for.
OperatorBudget budget_of(const std::vector<float>& ours, const std::vector<double>& our_exact,
                         const std::vector<float>& theirs, const std::vector<double>& their_exact,
                         const std::string& amplification = "1") {
  const std::vector<SafetensorsTensor> measured{recorded("output.0", "F32", {2}, ours),
                                                recorded("fp64.0", "F64", {2}, our_exact)};
  const std::vector<SafetensorsTensor> expected{recorded("output.0", "F32", {2}, theirs),
                                                recorded("fp64.0", "F64", {2}, their_exact)};
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    const auto path = outcome.folder / kOperatorTensorsFile;
    if (task.purpose == "a-tensors") write_safetensors(path, measured, {});
    if (task.purpose == "b-tensors") write_safetensors(path, expected, {{"amplification", amplification}});
  };
  const Explanation found = *compare(replays, explained()).explanation;
  REQUIRE(found.budget);
  return *found.budget;
}

TEST_CASE("what one side alone has not finite, or makes where fp64 makes nothing, is infinitely far off",
          "[explanation]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SECTION("where all should be zero") {
    const auto budget = budget_of({0, 0}, {0, 0}, {0, 1}, {0, 0});
    CHECK(budget.measured_error_rel == 0);
    CHECK(budget.expected_error_rel == kInfinity);
    CHECK(budget.distance_rel == kInfinity);
    CHECK(budget.forms_apart_rel == 0);
  }
  SECTION("what the expected side asks for is zero, what the measured one asks for is not") {
    CHECK(budget_of({1, 0}, {1, 0}, {0, 0}, {0, 0}).forms_apart_rel == kInfinity);
  }
  SECTION("what one of the two asks for is NaN or infinite") {
    const double odd = GENERATE_COPY(nan, kInfinity);
    const bool is_ours = GENERATE(true, false);
    const auto budget = budget_of({1, 2}, {1, is_ours ? odd : 2}, {1, 2.5F}, {1, is_ours ? 2 : odd});
    CHECK(budget.forms_apart_rel == kInfinity);
  }
  SECTION("one side made NaN or infinity") {
    const auto odd = static_cast<float>(GENERATE_COPY(nan, kInfinity));
    const bool is_ours = GENERATE(true, false);
    const auto budget = budget_of({1, is_ours ? odd : 2}, {1, 2}, {1, is_ours ? 2 : odd}, {1, 2});
    CHECK(budget.measured_error_rel == (is_ours ? kInfinity : 0));
    CHECK(budget.expected_error_rel == (is_ours ? 0 : kInfinity));
    CHECK(budget.distance_rel == kInfinity);
    CHECK(budget.forms_apart_rel == 0);
  }
  SECTION("numbers whose squares fp64 does not hold") {
    CHECK(budget_of({1, 2}, {1e300, 2}, {1, 2.5F}, {-1e300, 2}).forms_apart_rel == kInfinity);
  }
  SECTION("not finite alike on both is no distance") {
    const auto budget = budget_of({1, INFINITY}, {1, kInfinity}, {2, INFINITY}, {1, kInfinity});
    CHECK(budget.forms_apart_rel == 0);
    CHECK(budget.distance_rel == 1);
  }
}

TEST_CASE("an amplification that is no finite number is left out", "[explanation]") {
  const auto told = [](const std::string& text) {
    return budget_of({1, 2}, {1, 2}, {1, 2.5F}, {1, 2}, text).amplification;
  };
  CHECK(told("1.25e-9") == 1.25e-9);
  for (const char* text : {"", "much", "1.5x", "inf", "nan", "1e999"}) CHECK_FALSE(told(text));
}

// In (-2, 2), exact in bf16 and TF32.
std::vector<float> factors(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const float value = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-30F;
    values.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000U));
  }
  return values;
}

// (rows, depth) times (depth, rows) as a device's tensor cores sum it in TF32.
std::vector<float> product_on(const char* device, const std::vector<float>& a, const std::vector<float>& b,
                              std::size_t rows, std::size_t depth) {
  const auto rule = mma_rule(device, MmaType::tf32).value();
  std::vector<float> sums;
  std::vector<float> column(depth);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t k = 0; k < depth; ++k) column[k] = b[k * rows + j];
      sums.push_back(mma_dot(rule, MmaType::tf32, std::span(a).subspan(i * depth, depth), column));
    }
  }
  return sums;
}

TEST_CASE("two generations of tensor cores are named where each one's rule gives its own side's bits",
          "[explanation]") {
  const auto a = factors(16 * 96, 1);
  const auto b = factors(96 * 16, 2);
  const auto ours = product_on("sm_80", a, b, 16, 96);
  const auto theirs = product_on("sm_90", a, b, 16, 96);
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"backward fc2 aten::mm", 4, 4, 7}};
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (!task.purpose.ends_with("-tensors")) return;
    write_safetensors(outcome.folder / kOperatorTensorsFile,
                      {recorded("input.0", "F32", {16, 96}, a), recorded("input.1", "F32", {96, 16}, b),
                       recorded("output.0", "F32", {16, 16}, task.purpose == "a-tensors" ? ours : theirs)},
                      {});
  };
  struct Row {
    const char* measured;
    const char* expected;
    const char* tf32;
    bool is_explained;
  };
  const Row row = GENERATE(Row{"sm_80", "sm_90", "on", true}, Row{"sm_90", "sm_80", "on", false},
                           Row{"sm_80", "sm_90", "off", false});
  CellRequest measured = synthetic_request();
  measured.knobs["tf32"] = row.tf32;
  CellRequest expected = measured;
  measured.device = row.measured;
  expected.device = row.expected;
  const auto comparison =
      compare_cells(replays.side("stack-b", measured), replays.side("stack-a", expected), explained(), replays);
  REQUIRE(comparison.explanation);
  REQUIRE(comparison.explanation->notes.size() == (row.is_explained ? 1 : 0));
  if (row.is_explained) {
    CHECK(has(comparison.explanation->notes.front(), "explained by the accumulator of sm_80 against sm_90"));
  }
}

TEST_CASE("at level `step` the operators are recorded since the state was last seen equal", "[explanation]") {
  ScriptedReplays replays;
  CellRequest request = synthetic_request();
  request.trace = TraceLevel::step;
  request.workload.steps = 60;
  const auto [step, first] = GENERATE(std::pair(20, 1), std::pair(50, 1), std::pair(51, 51), std::pair(55, 51));
  CAPTURE(step);
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", step, step, 2}};
  const auto comparison = compare(replays, explained(), request);
  CHECK(comparison.trace.first->step == step);
  CHECK(comparison.trace.first->tensor.empty());
  CHECK(replays.calls[0][0].request.replay->operators_from == first);
  CHECK(comparison.explanation->call->measured.step == step);
}

TEST_CASE("a side whose replay takes another course is said not to be reproducible", "[explanation]") {
  const std::string purpose = GENERATE("a-operators", "b-operators");
  const std::string stack = purpose == "a-operators" ? "stack-b" : "stack-a";
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == purpose) outcome.attempt.lead().trace->steps.back().chain = "another";
  };
  const auto comparison = compare(replays, explained());
  REQUIRE(comparison.explanation->notes.size() == 1);
  CHECK(has(comparison.explanation->notes.front(), stack + ": the replay did not give the run's bits up to step 4"));
}

TEST_CASE("a replay that fails or leaves less than asked for costs the explanation and nothing else", "[explanation]") {
  struct Spoiled {
    const char* purpose;
    std::string file;  // to remove; empty: the process crashed
    bool cut = false;
    const char* says;
  };
  const Spoiled spoiled = GENERATE(Spoiled{"b-operators", "", false, "replay `b-operators` on stack-a ended as crash"},
                                   Spoiled{"a-tensors", "", false, "replay `a-tensors` on stack-b ended as crash"},
                                   Spoiled{"a-operators", "operators.jsonl", false, "operators.jsonl"},
                                   Spoiled{"b-operators", "operators.jsonl", true, "operators.jsonl"},
                                   Spoiled{"b-tensors", "operator.safetensors", false, "operator.safetensors"},
                                   Spoiled{"a-tensors", "operator.safetensors", true, "operator.safetensors"},
                                   Spoiled{"c-fp64", "gradients-5.safetensors", false, "gradients-5.safetensors"});
  CAPTURE(spoiled.purpose, spoiled.file, spoiled.cut);
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose != spoiled.purpose) return;
    const auto path = outcome.folder / spoiled.file;
    if (spoiled.file.empty()) {
      outcome.attempt.end = AttemptEnd::crash;
    } else if (spoiled.cut) {
      std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
    } else {
      std::filesystem::remove(path);
    }
  };
  const auto comparison = compare(replays, explained(2));
  CHECK(comparison.word == Match::differs);
  CHECK(comparison.trace.first->step == 4);
  CHECK_FALSE(comparison.explanation);
  REQUIRE(comparison.unanswered.size() == 1);
  CHECK(has(comparison.unanswered.front(), spoiled.says));
  CHECK(has(comparison.sentence, "; not answered: explanation: "));
}

TEST_CASE("a replay without any operator call is not taken for one of equal operators", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose.ends_with("-operators")) std::filesystem::resize_file(outcome.folder / kOperatorsFile, 0);
  };
  const auto comparison = compare(replays, explained());
  CHECK_FALSE(comparison.explanation);
  CHECK(comparison.unanswered.size() == 1);
}

TEST_CASE("many batches from one state beside fp64 tell rounding from a defect", "[explanation]") {
  ScriptedReplays replays;
  SECTION("one unit in the last place") {
    replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, 7}};
    const auto comparison = compare(replays, explained(8));
    CHECK(comparison.explanation->lockstep->word == LockstepWord::rounding);
    CHECK(has(comparison.sentence, "; rounding: by the steps against fp64 alone"));
  }
  SECTION("a thousandth") {
    replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, -1, times(1.001)}};
    const auto comparison = compare(replays, explained(8));
    CHECK(comparison.explanation->lockstep->word == LockstepWord::defect);
    CHECK(comparison.explanation->lockstep->batches == 8);
    CHECK(comparison.explanation->lockstep_state == 3);
    const auto& tasks = replays.calls.back();
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

TEST_CASE("an fp64 run is judged by none, and a planted fault is not in the exact one", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 4, 99, 7}};
  CellRequest request = synthetic_request();
  SECTION("fp64") {
    request.knobs["precision"] = "fp64";
    const auto comparison = compare(replays, explained(8), request);
    CHECK_FALSE(comparison.explanation->lockstep);
    CHECK(comparison.explanation->notes.size() == 1);
  }
  SECTION("a fault") {
    request.inject = Injection{"weight_ulp", 4, "fc1.weight", 0};
    compare(replays, explained(8), request);
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
        (other ? kLegitimateRatioOfLibraries : kLegitimateRatio));
  CHECK(comparison.explanation->notes.size() == (other ? 1 : 0));
}

TEST_CASE("--states judges the step after each of them, from one replay of the expected side", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 5, 99, -1, times(1.001)}};
  ExplainSettings settings = explained(2);
  settings.lockstep_states = {4, 0, 2};
  const auto comparison = compare(replays, settings);
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
  CHECK(compare(replays, settings).explanation->lockstep_states.size() == 1);
  REQUIRE(replays.calls.size() >= 2);
  CHECK(replays.calls[replays.calls.size() - 2].front().purpose == "b-states");
  CHECK(replays.calls[replays.calls.size() - 2].front().request.replay->last_step == 1);
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
  SECTION("several ranks") {
    measured.request.world_size = expected.request.world_size = 2;
    says = "only attempts of one rank are compared yet, these have 2";
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
