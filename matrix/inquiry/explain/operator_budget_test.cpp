// What an explanation says of a call against fp64.
#include <array>

#include "ci/catch.hpp"
#include "kernels/mma/mma.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"
#include "matrix/inquiry/explain/source_judgement.hpp"

namespace reprobench {
namespace {

TEST_CASE("a backward node has no fp64 form, and its element is found nevertheless", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"backward loss MseLossBackward0", 2, 2, 1}};
  const auto comparison = compare_stacks(replays, explained());
  CHECK(comparison.explanation->element);
  CHECK_FALSE(comparison.explanation->budget);
  CHECK(comparison.explanation->no_budget == "a backward node cannot be called by itself");
}

template <class Value>
SafetensorsTensor recorded(const std::string& name, const char* dtype, std::vector<std::int64_t> shape,
                           const std::vector<Value>& values) {
  return {name, dtype, std::move(shape), std::as_bytes(std::span(values))};
}

// Of one product, out of the files that the two sides captured.
DifferenceSource judged_product(std::vector<SafetensorsTensor> measured, std::vector<SafetensorsTensor> expected,
                                const std::string& amplification, const CellRequest& ours = synthetic_request(),
                                const CellRequest& theirs = synthetic_request(),
                                std::vector<std::string>* notes = nullptr,
                                const std::array<std::string, 2>& orders = {}, const char* name_of_call = "aten::mm") {
  const TemporaryFolder folder;
  const auto captured = [&](const char* name, std::vector<SafetensorsTensor> tensors) {
    SafetensorsMetadata metadata = {{"amplification", amplification}};
    const std::string& order = orders[std::string_view(name) == "measured" ? 0 : 1];
    if (!order.empty()) metadata["order.0"] = order;
    write_safetensors(folder.path / name, std::move(tensors), metadata);
    return SafetensorsFile::open(folder.path / name);
  };
  DifferenceSource source;
  source.call.emplace();
  source.call->measured.name = source.call->expected.name = name_of_call;
  std::vector<std::string> own_notes;
  judge_source(source, ours, theirs, captured("measured", std::move(measured)),
               captured("expected", std::move(expected)), notes == nullptr ? own_notes : *notes);
  return source;
}

// Of an output of two elements, of which the first `replayed` are what the tree gives.
std::string order_document(const std::string& tree, std::int64_t replayed) {
  CallOrder order;
  order.classes = {{tree, "a chain", SumEnd::as_it_is, 3, 0, 2, 1000}};
  order.elements = 2;
  order.replayed = replayed;
  order.not_replayed = 2 - replayed;
  if (replayed < 2) order.first_not_replayed = replayed;
  return written(order).dump();
}

TEST_CASE("orders that both workers read off a call are judged with its bounds", "[explanation]") {
  const std::vector<double> exact{3, 4};
  const std::vector<float> ours{3, 4.5F};
  const std::vector<float> theirs{3.25F, 4};
  const auto judged = [&](const std::string& measured, const std::string& expected) {
    const CellRequest request = synthetic_request();
    return judged_product({recorded("output.0", "F32", {2}, ours)},
                          {recorded("output.0", "F32", {2}, theirs), recorded("fp64.0", "F64", {2}, exact)}, "1",
                          request, request, nullptr, {measured, expected});
  };
  const DifferenceSource proven = judged(order_document("(0..2)", 2), order_document("(1 2 0)", 2));
  REQUIRE(proven.budget->order);
  CHECK(proven.budget->order->word == OrderWord::proven);
  CHECK_THAT(proven.budget->order->sentence, Catch::StartsWith("aten::mm adds in another order, proven: a chain #") &&
                                                 Catch::EndsWith("at 2 of 2 elements"));
  CallOrder unknown;
  unknown.problem = "it is no sum";
  CHECK(judged(order_document("(0..2)", 2), written(unknown).dump()).budget->order->sentence ==
        "not proven: it is no sum (expected side)");
  CHECK_FALSE(judged("", order_document("(0..2)", 2)).budget->order);
  CHECK_FALSE(judged("not JSON", order_document("(0..2)", 2)).budget->order);
  CHECK_FALSE(judged("{}", order_document("(0..2)", 2)).budget->order);
}

TEST_CASE("only a loop of torch's own on a CPU has to keep its order: a library may choose it by where operands lie",
          "[explanation]") {
  const std::vector<double> exact{3, 4};
  const std::vector<float> ours{3, 4.5F};
  const std::vector<float> theirs{3.25F, 4};
  const auto judged = [&](const char* name, const char* device, std::int64_t measured, std::int64_t expected) {
    CellRequest request = synthetic_request();
    request.device = device;
    return judged_product({recorded("output.0", "F32", {2}, ours)},
                          {recorded("output.0", "F32", {2}, theirs), recorded("fp64.0", "F64", {2}, exact)}, "1",
                          request, request, nullptr,
                          {order_document("(0..2)", measured), order_document("(1 2 0)", expected)}, name)
        .budget->order.value();
  };
  const OrderJudgement softmax = judged("aten::_softmax", "cpu", 1, 2);
  CHECK(softmax.word == OrderWord::broken);
  CHECK(softmax.sentence ==
        "aten::_softmax: the order in which the measured side adds is known, and element 1 of its result is not what "
        "it gives");
  const OrderJudgement sum = judged("aten::sum", "cpu", 2, 0);
  CHECK(sum.word == OrderWord::broken);
  CHECK_THAT(sum.sentence, Catch::Contains("the expected side adds is known, and element 0"));
  const auto [name, device] =
      GENERATE(table<const char*, const char*>({{"aten::mm", "cpu"},
                                                {"aten::convolution", "cpu"},
                                                {"aten::_scaled_dot_product_flash_attention_for_cpu", "cpu"},
                                                {"aten::_softmax", "cuda:0"}}));
  CAPTURE(name, device);
  const OrderJudgement other = judged(name, device, 1, 2);
  CHECK(other.word == OrderWord::unknown);
  CHECK_THAT(other.sentence, Catch::StartsWith("not proven: ") && Catch::EndsWith("is not what it gives"));
}

TEST_CASE("of several outputs the one that leaves its side's order is judged, and one side's order is enough",
          "[explanation]") {
  const TemporaryFolder folder;
  const std::vector<double> exact{3, 4};
  const std::vector<float> made{3, 4.5F};
  const auto captured = [&](const char* name, const std::string& order) {
    SafetensorsMetadata metadata;
    if (!order.empty()) metadata["order.1"] = order;
    write_safetensors(folder.path / name,
                      {recorded("output.0", "F32", {2}, made), recorded("output.1", "F32", {2}, made),
                       recorded("fp64.0", "F64", {2}, exact), recorded("fp64.1", "F64", {2}, exact)},
                      metadata);
    return SafetensorsFile::open(folder.path / name);
  };
  const auto judged = [&](std::int64_t replayed, bool is_measured) {
    DifferenceSource source;
    source.call.emplace();
    source.call->measured.name = source.call->expected.name = "aten::native_layer_norm";
    source.call->measured.outputs = {{"float32", {2}, std::string(32, 'a')}, {"float32", {2}, std::string(32, 'a')}};
    source.call->expected.outputs = {{"float32", {2}, std::string(32, 'b')}, {"float32", {2}, std::string(32, 'b')}};
    CellRequest request = synthetic_request();
    request.device = "cpu";
    const std::string order = order_document("(0..2)", replayed);
    std::vector<std::string> notes;
    judge_source(source, request, request, captured("measured", is_measured ? order : ""),
                 captured("expected", is_measured ? "" : order), notes);
    return source;
  };
  const bool is_measured = GENERATE(true, false);
  const DifferenceSource broken = judged(1, is_measured);
  CHECK(broken.call->output == 1);
  CHECK(broken.budget->order.value().word == OrderWord::broken);
  const DifferenceSource kept = judged(2, is_measured);
  CHECK(kept.call->output == 0);
  CHECK_FALSE(kept.budget->order);
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
  const auto judged = [&] { return judged_product(measured, expected, "2.5"); };
  SECTION("all is there") {
    const DifferenceSource found = judged();
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
    const DifferenceSource found = judged();
    CHECK(found.no_budget == "the operator has no fp64 form");
    CHECK_FALSE(found.budget);
    CHECK(found.element);
  }
  SECTION("outputs that no element can be compared of") {
    SECTION("another type") { measured.back() = recorded("output.0", "BF16", {2}, in_bf16); }
    SECTION("another shape") { measured.back() = recorded("output.0", "F32", {2, 1}, ours); }
    const DifferenceSource found = judged();
    CHECK(found.no_budget == "the two outputs differ in type or shape");
    CHECK_FALSE(found.budget);
    CHECK_FALSE(found.element);
  }
  SECTION("one side left no output") {
    (GENERATE(true, false) ? measured : expected).front().name = "output.1";
    const DifferenceSource found = judged();
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
  const DifferenceSource found = judged_product(measured, expected, amplification);
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
  const auto captured = [&](const std::vector<float>& output) {
    return std::vector{recorded("input.0", "F32", {16, 96}, a), recorded("input.1", "F32", {96, 16}, b),
                       recorded("output.0", "F32", {16, 16}, output)};
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
  std::vector<std::string> notes;
  judged_product(captured(ours), captured(theirs), "1", measured, expected, &notes);
  REQUIRE(notes.size() == (row.is_explained ? 1 : 0));
  if (row.is_explained) CHECK(has(notes.front(), "explained by the accumulator of sm_80 against sm_90"));
}

TEST_CASE("16-bit products of a GPU are summed up in fp32 where the knobs say so, of a CPU always", "[explanation]") {
  struct Row {
    const char* device;
    const char* reduced;
    const char* determinism;
    const char* accumulation;
    bool may_sum_in_16_bits;
  };
  const Row row = GENERATE(Row{"sm_90", "preset", "strict", "off", false}, Row{"sm_90", "off", "fast", "off", false},
                           Row{"sm_90", "preset", "default", "off", true}, Row{"sm_90", "on", "strict", "off", true},
                           Row{"sm_90", "off", "strict", "on", true}, Row{"cpu", "on", "fast", "on", false});
  CAPTURE(row.device, row.reduced, row.determinism, row.accumulation);
  CellRequest request = synthetic_request();
  request.device = row.device;
  request.knobs["reduced_reduction"] = row.reduced;
  request.knobs["determinism"] = row.determinism;
  request.knobs["fp16_accumulation"] = row.accumulation;
  CHECK(local_settings(request).may_sum_in_16_bits == row.may_sum_in_16_bits);
}

TEST_CASE("rows are shared out to a rank's threads on a CPU, and in no known order on a GPU", "[explanation]") {
  CellRequest request = synthetic_request();
  request.device = "cpu";
  request.knobs["threads"] = "4";
  CHECK(local_settings(request).threads == 4);
  request.world_size = 2;
  CHECK(local_settings(request).threads == 2);
  request.knobs.erase("threads");
  CHECK(local_settings(request).threads == 1);
  request.device = "sm_90";
  CHECK(local_settings(request).threads == 0);
}

}  // namespace
}  // namespace reprobench
