#include "matrix/verdict/atlas/call_comparison.hpp"

#include <limits>

#include "ci/catch.hpp"
#include "matrix/numerics/calls/order_judgement.hpp"
#include "matrix/verdict/metrics/probe_metrics.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

const std::string kLayerNormCall = "native_layer_norm(f32[256, 768], [768], f32[768], f32[768], 1e-5)";

CallOutput call_output(const std::string& name, char digit, double error_rel) {
  CallOutput made{name, "float32", {256, 768}, std::string(32, digit), error_rel, 0, "", std::vector<double>(8, 1),
                  {},   2};
  made.fp64_sums = made.sums;
  return made;
}

// A layer norm with its gradient, the bits of which are `digit`, `error_rel` from fp64.
ProbeMeasurement layer_norm_call(char digit = '0', double error_rel = 5e-8) {
  ProbeMeasurement measurement;
  measurement.labels = {{"call", kLayerNormCall}};
  measurement.status = MeasurementStatus::measured;
  measurement.call = CallRecord{CallEnd::ran,
                                std::string(32, 'e'),
                                true,
                                {call_output("output.0", digit, error_rel), call_output("gradient.0", '9', 7e-8)}};
  return measurement;
}

ProbeMeasurement ended_call(CallEnd end, const std::string& why) {
  ProbeMeasurement measurement = layer_norm_call();
  measurement.call = CallRecord{end, "", true, {}};
  measurement.finding = why;
  return measurement;
}

CallOutput& first_output(ProbeMeasurement& measurement) { return measurement.call->outputs.front(); }

TEST_CASE("equal digests of all outputs are equal bits", "[verdict]") {
  const ProbeMeasurement ours = layer_norm_call();
  CHECK(compare_calls(&ours, &ours).word == CallWord::equal);
  CHECK(compare_calls(&ours, &ours).why.empty());
  CHECK(compare_calls(&ours, &ours).differing.empty());
}

TEST_CASE("other bits within the error of rounding are rounding, by an estimated distance", "[verdict]") {
  const ProbeMeasurement theirs = layer_norm_call();
  ProbeMeasurement ours = layer_norm_call('1', 6e-8);
  first_output(ours).sums[0] += 3e-8;
  first_output(ours).sums[1] -= 4e-8;
  const CallComparison found = compare_calls(&ours, &theirs);
  CHECK(found.word == CallWord::rounding);
  CHECK(found.differing == std::vector<std::string>{"output.0"});
  CHECK(*found.distance_rel == Approx(2.5e-8));  // 5e-8 of a norm of 2
  CHECK(*found.error_rel == 6e-8);
  CHECK(*found.expected_error_rel == 5e-8);
  CHECK(found.why == "output.0 is 6.0e-08 from fp64, the reference's 5.0e-08");
}

TEST_CASE("an error that no rounding takes it to is a defect, on either side", "[verdict]") {
  // 196,608 elements in and out: at most the root of them, 443 terms, whose roundings come to 21.1 2^-24 = 1.25e-6.
  const ProbeMeasurement theirs = layer_norm_call();
  const ProbeMeasurement within = layer_norm_call('1', 1.2e-6);
  const ProbeMeasurement beyond = layer_norm_call('1', 1.3e-6);
  CHECK(compare_calls(&within, &theirs).word == CallWord::rounding);
  CHECK(compare_calls(&beyond, &theirs).word == CallWord::defect);
  CHECK_THAT(compare_calls(&beyond, &theirs).why, Catch::Contains("it is beyond the 1.3e-06"));
  CHECK(compare_calls(&theirs, &beyond).word == CallWord::defect);
  CHECK_THAT(compare_calls(&theirs, &beyond).why, Catch::Contains("the reference is beyond"));
  // A reference that is far itself allows four times that.
  const ProbeMeasurement far = layer_norm_call('2', 1e-6);
  const ProbeMeasurement three_times = layer_norm_call('1', 3.9e-6);
  const ProbeMeasurement five_times = layer_norm_call('1', 4.1e-6);
  CHECK(compare_calls(&three_times, &far).word == CallWord::rounding);
  CHECK(compare_calls(&five_times, &far).word == CallWord::defect);
}

TEST_CASE("the roundings that an error may hold are those of the output's own type", "[verdict]") {
  struct Row {
    const char* dtype;
    double within;
    double beyond;
  };
  // 443 terms: 21.1 2^-53 = 2.34e-15 and 21.1 2^-24 = 1.25e-6; 16-bit types have one bound for any number of terms.
  for (const Row& row : {Row{"float64", 2.3e-15, 2.4e-15}, Row{"float32", 1.25e-6, 1.26e-6},
                         Row{"float16", 0.99e-3, 1.01e-3}, Row{"bfloat16", 5.9e-3, 6.1e-3}}) {
    INFO(row.dtype);
    const auto with_error = [&](char digit, double error_rel) {
      ProbeMeasurement measurement = layer_norm_call(digit, error_rel);
      first_output(measurement).dtype = row.dtype;
      return measurement;
    };
    const ProbeMeasurement theirs = with_error('0', row.within / 100);
    const ProbeMeasurement within = with_error('1', row.within);
    const ProbeMeasurement beyond = with_error('1', row.beyond);
    CHECK(compare_calls(&within, &theirs).word == CallWord::rounding);
    CHECK(compare_calls(&beyond, &theirs).word == CallWord::defect);
  }
}

// Of all elements but those that were not looked at.
CallOrder order_on_record(const std::string& order, std::int64_t elements = 256 * 768) {
  CallOrder record;
  record.classes = {{order, "chains", SumEnd::as_it_is, 4, 0, elements, 1000}};
  record.elements = elements;
  record.replayed = elements;
  return record;
}

ProbeMeasurement with_order(char digit, double error_rel, CallOrder order) {
  ProbeMeasurement measurement = layer_norm_call(digit, error_rel);
  first_output(measurement).order = std::move(order);
  return measurement;
}

TEST_CASE("two orders that differ and give both results prove rounding, whatever the error", "[verdict]") {
  const ProbeMeasurement theirs = with_order('0', 5e-8, order_on_record("(0..3)"));
  for (const double error_rel : {6e-8, 1e-3}) {
    const ProbeMeasurement ours = with_order('1', error_rel, order_on_record("(0 1 (2 3))"));
    const CallComparison found = compare_calls(&ours, &theirs);
    CHECK(found.word == CallWord::rounding);
    CHECK(found.proven);
    CHECK_THAT(found.why, Catch::StartsWith("output.0 adds in another order, proven: chains #") &&
                              Catch::Contains(" against chains #") &&
                              Catch::EndsWith("; both replayed to the bit at 196608 of 196608 elements"));
    CHECK(found.orders.size() == 1);
    CHECK(found.orders[0].name == order_name(*ours.call->outputs[0].order));
  }
  ProbeMeasurement ours = with_order('1', 6e-8, order_on_record("(0 1 (2 3))"));
  ours.call->outputs[1].digest = std::string(32, '8');  // its gradient differs too, and has no order
  CHECK(compare_calls(&ours, &theirs).word == CallWord::rounding);
  CHECK_FALSE(compare_calls(&ours, &theirs).proven);
}

TEST_CASE("orders that show a defect decide before an error that rounding could take", "[verdict]") {
  const ProbeMeasurement theirs = with_order('0', 5e-8, order_on_record("(0..3)"));
  const ProbeMeasurement one_order = with_order('1', 5e-8, order_on_record("(0..3)"));
  CHECK(compare_calls(&one_order, &theirs).word == CallWord::defect);
  CHECK_FALSE(compare_calls(&one_order, &theirs).proven);
  CHECK_THAT(compare_calls(&one_order, &theirs).why, Catch::Contains("both sides add in one order (chains #"));
  CallOrder broken = order_on_record("(0 1 (2 3))");
  broken.not_replayed = 1;
  broken.first_not_replayed = 42;
  const ProbeMeasurement ours = with_order('1', 5e-8, broken);
  CHECK(compare_calls(&ours, &theirs).word == CallWord::defect);
  CHECK(compare_calls(&theirs, &ours).word == CallWord::defect);
}

TEST_CASE("an order that is not known leaves the judgement to bounds, and says why nothing is proven", "[verdict]") {
  CallOrder unknown;
  unknown.problem = "it is no sum";
  const ProbeMeasurement theirs = with_order('0', 5e-8, order_on_record("(0..3)"));
  const ProbeMeasurement within = with_order('1', 6e-8, unknown);
  CHECK(compare_calls(&within, &theirs).word == CallWord::rounding);
  CHECK_FALSE(compare_calls(&within, &theirs).proven);
  CHECK(compare_calls(&within, &theirs).why ==
        "output.0 is 6.0e-08 from fp64, the reference's 5.0e-08; not proven: it is no sum");
  const ProbeMeasurement beyond = with_order('1', 1e-3, unknown);
  CHECK(compare_calls(&beyond, &theirs).word == CallWord::defect);
}

TEST_CASE("a proof at a sample of the elements does not excuse an error beyond its bound", "[verdict]") {
  CallOrder sample = order_on_record("(0..3)", 100);
  CallOrder other = order_on_record("(0 1 (2 3))", 100);
  const ProbeMeasurement theirs = with_order('0', 5e-8, sample);
  const ProbeMeasurement within = with_order('1', 6e-8, other);
  CHECK(compare_calls(&within, &theirs).word == CallWord::rounding);
  CHECK(compare_calls(&within, &theirs).proven);
  CHECK_THAT(compare_calls(&within, &theirs).why, Catch::EndsWith("at 100 of 196608 elements"));
  const ProbeMeasurement beyond = with_order('1', 1e-3, other);
  CHECK(compare_calls(&beyond, &theirs).word == CallWord::defect);
  CHECK_FALSE(compare_calls(&beyond, &theirs).proven);
}

TEST_CASE("where an order is not known, errors decide as before", "[verdict]") {
  CallOrder unknown;
  unknown.problem = "it is no sum of these terms";
  const ProbeMeasurement without = with_order('0', 5e-8, unknown);
  for (const auto& [error_rel, word] : {std::pair(6e-8, CallWord::rounding), std::pair(1.3e-6, CallWord::defect)}) {
    const ProbeMeasurement ours = with_order('1', error_rel, order_on_record("(0..3)"));
    CHECK(compare_calls(&ours, &without).word == word);
    CHECK_FALSE(compare_calls(&ours, &without).proven);
  }
  CHECK(compare_calls(&without, &without).orders[0].problem == "it is no sum of these terms");
}

TEST_CASE("an element that is not finite on one side alone is a defect", "[verdict]") {
  const ProbeMeasurement theirs = layer_norm_call();
  ProbeMeasurement ours = layer_norm_call('1');
  first_output(ours).not_finite_mismatches = 1;
  CHECK(compare_calls(&ours, &theirs).word == CallWord::defect);
  CHECK(compare_calls(&theirs, &ours).word == CallWord::defect);
  ProbeMeasurement both = layer_norm_call('2');
  first_output(both).not_finite_mismatches = 1;
  CHECK(compare_calls(&ours, &both).word == CallWord::rounding);
}

TEST_CASE("other inputs, forms or results in fp64 are another computation, never equal", "[verdict]") {
  const ProbeMeasurement theirs = layer_norm_call();
  ProbeMeasurement ours = layer_norm_call();
  SECTION("inputs, though every digest is the same") { ours.call->inputs[31] = 'f'; }
  SECTION("an output's shape") { first_output(ours).shape = {768, 256}; }
  SECTION("an output's type") { first_output(ours).dtype = "bfloat16"; }
  SECTION("an output more") { ours.call->outputs.push_back(call_output("gradient.2", '1', 1e-8)); }
  SECTION("an output less") { ours.call->outputs.pop_back(); }
  SECTION("fp64") {
    first_output(ours).digest = std::string(32, '1');
    first_output(ours).fp64_sums[0] += 2.1e-9;  // of a norm of 2: over 1e-9
  }
  CHECK(compare_calls(&ours, &theirs).word == CallWord::another_computation);
  CHECK_FALSE(compare_calls(&ours, &theirs).why.empty());
}

TEST_CASE("what should be zero has no distance that a bound could hold", "[verdict]") {
  ProbeMeasurement zero = layer_norm_call();
  first_output(zero).sums = first_output(zero).fp64_sums = std::vector<double>(kCallSums, 0);
  first_output(zero).l2 = 0;
  ProbeMeasurement tiny = zero;
  first_output(tiny).digest = std::string(32, '1');
  first_output(tiny).sums[0] = first_output(tiny).l2 = 1e-12;
  CHECK(compare_calls(&tiny, &zero).word == CallWord::rounding);  // by errors that fp64 gave
  CHECK_FALSE(compare_calls(&tiny, &zero).distance_rel.has_value());
  first_output(tiny).fp64_sums[0] = 1e-12;
  CHECK(compare_calls(&tiny, &zero).word == CallWord::another_computation);
  first_output(tiny).fp64_sums = {};
  CHECK(compare_calls(&tiny, &zero).word == CallWord::another_computation);
}

TEST_CASE("an infinite error is a defect, though both sides have it", "[verdict]") {
  const ProbeMeasurement theirs = layer_norm_call('0', std::numeric_limits<double>::infinity());
  const ProbeMeasurement ours = layer_norm_call('1', std::numeric_limits<double>::infinity());
  CHECK(compare_calls(&ours, &theirs).word == CallWord::defect);
}

TEST_CASE("a call that repeats its bits on one side alone is a defect, whatever its digests", "[verdict]") {
  const ProbeMeasurement steady = layer_norm_call();
  ProbeMeasurement unsteady = layer_norm_call();
  unsteady.call->repeats = false;
  CHECK(compare_calls(&unsteady, &unsteady).word == CallWord::equal);
  CHECK(compare_calls(&unsteady, &steady).word == CallWord::defect);
  CHECK(compare_calls(&unsteady, &steady).why == "a second call gives other bits, the reference's does not");
  CHECK(compare_calls(&steady, &unsteady).why == "a second call of the reference gives other bits, here it does not");
  first_output(unsteady).digest = std::string(32, '1');
  CHECK(compare_calls(&unsteady, &steady).word == CallWord::defect);
}

TEST_CASE("fp64's own rounding is no other computation", "[verdict]") {
  const ProbeMeasurement theirs = layer_norm_call();
  ProbeMeasurement ours = layer_norm_call('1');
  first_output(ours).fp64_sums[0] += 1.9e-9;
  CHECK(compare_calls(&ours, &theirs).word == CallWord::rounding);
}

TEST_CASE("other bits of what has no fp64 form are said to differ, and a defect beside them wins", "[verdict]") {
  const auto whole = [](char digit) {
    ProbeMeasurement measurement = layer_norm_call(digit);
    CallOutput& made = first_output(measurement);
    made.dtype = "int64";
    made.error_rel.reset();
    made.fp64_sums.clear();
    made.no_fp64 = "whole numbers";
    return measurement;
  };
  const ProbeMeasurement theirs = whole('0');
  ProbeMeasurement ours = whole('1');
  CHECK(compare_calls(&ours, &theirs).word == CallWord::differs);
  CHECK_THAT(compare_calls(&ours, &theirs).why, Catch::Contains("whole numbers"));
  CallOutput& gradient = ours.call->outputs.back();
  gradient.digest = std::string(32, '1');
  CHECK(compare_calls(&ours, &theirs).word == CallWord::differs);
  gradient.error_rel = 1;
  CHECK(compare_calls(&ours, &theirs).word == CallWord::defect);
  CHECK(compare_calls(&ours, &theirs).differing.size() == 2);
}

TEST_CASE("a call that one side did not run is absent, not run or unknown, never equal", "[verdict]") {
  const ProbeMeasurement ran = layer_norm_call();
  const ProbeMeasurement absent = ended_call(CallEnd::absent, "this release has no operator aten::rms_norm");
  const ProbeMeasurement large = ended_call(CallEnd::too_large, "needs 9 MiB, the list allows 1 MiB");
  const ProbeMeasurement refused = ended_call(CallEnd::refused, "not implemented for 'Half'");
  CHECK(compare_calls(&absent, &ran).word == CallWord::absent);
  CHECK(compare_calls(&absent, &ran).why == "this release has no operator aten::rms_norm");
  CHECK(compare_calls(&absent, &absent).word == CallWord::absent);
  CHECK(compare_calls(&large, &ran).word == CallWord::not_run);
  CHECK(compare_calls(&refused, &refused).word == CallWord::not_run);
  CHECK(compare_calls(&ran, &absent).word == CallWord::unknown);
  CHECK(compare_calls(nullptr, &ran).word == CallWord::unknown);
  CHECK(compare_calls(&ran, nullptr).word == CallWord::unknown);
}

// A cell of one process that left these, each as a call of its own.
CellEvidence with_calls(std::vector<ProbeMeasurement> measurements) {
  AttemptRecord attempt = sample::attempt(0, 1000);
  int number = 0;
  for (ProbeMeasurement& measurement : measurements)
    measurement.labels["call"] = "relu(f32[" + std::to_string(++number) + "])";
  attempt.lead().result->measurements = std::move(measurements);
  return {"operators", "cpu", "", {attempt}};
}

void drop_last(CellEvidence& cell) { cell.repeats.front().lead().result->measurements.pop_back(); }

TEST_CASE("changed calls are counted, and those among them that are broken", "[verdict]") {
  const CellEvidence reference =
      with_calls({layer_norm_call(), layer_norm_call(), layer_norm_call(), layer_norm_call()});
  const CellEvidence same =
      with_calls({layer_norm_call(), layer_norm_call(), layer_norm_call(), ended_call(CallEnd::absent, "none")});
  CHECK(*changed_calls(same, &reference).value == 0);
  CHECK(changed_calls(same, &reference).statement ==
        "0 of 3 operator calls; 1 more did not run on both sides, first relu(f32[4]): none");
  const CellEvidence other = with_calls(
      {layer_norm_call(), layer_norm_call('1'), layer_norm_call('1', 1), ended_call(CallEnd::too_large, "9 MiB")});
  CHECK(*changed_calls(other, &reference).value == 2);
  CHECK_THAT(changed_calls(other, &reference).finding, Catch::StartsWith("first relu(f32[2]): output.0"));
  CHECK(*broken_calls(other, &reference).value == 1);
  CHECK_THAT(broken_calls(other, &reference).finding, Catch::StartsWith("relu(f32[3]): output.0 is 1.0e+00"));
}

TEST_CASE("a call that no side has leaves the count open, unless another one decides it", "[verdict]") {
  const ProbeMeasurement misspelt = ended_call(CallEnd::absent, "this release has no operator aten::rleu");
  const CellEvidence reference = with_calls({layer_norm_call(), misspelt});
  CHECK(changed_calls(reference, &reference).missing ==
        "neither side has relu(f32[2]): this release has no operator aten::rleu");
  CHECK_FALSE(broken_calls(reference, &reference).value);
  CHECK(*changed_calls(with_calls({layer_norm_call('1'), misspelt}), &reference).value == 1);
  // Of one side alone it is a difference between releases, which the sentence names.
  CHECK(*changed_calls(with_calls({layer_norm_call(), layer_norm_call()}), &reference).value == 0);
}

TEST_CASE("a call that the stack refuses and its reference makes is broken", "[verdict]") {
  const CellEvidence reference = with_calls({layer_norm_call()});
  const CellEvidence refuses = with_calls({ended_call(CallEnd::refused, "not implemented for 'Half'")});
  CHECK(*broken_calls(refuses, &reference).value == 1);
  CHECK(broken_calls(refuses, &reference).finding == "relu(f32[1]): not implemented for 'Half'");
  CHECK(*changed_calls(refuses, &reference).value == 1);
  CHECK(broken_calls(reference, &refuses).missing == "no operator call ran on both sides");
  CHECK(broken_calls(refuses, &refuses).missing == "no operator call ran on both sides");
}

TEST_CASE("a call without a record on one side leaves no count, and none is counted without calls", "[verdict]") {
  const CellEvidence whole = with_calls({layer_norm_call(), layer_norm_call()});
  CellEvidence cut = whole;
  drop_last(cut);
  CHECK(broken_calls(cut, &whole).missing == "relu(f32[2]): no record of this call");
  CHECK(changed_calls(whole, &cut).missing == "relu(f32[2]): the reference has no record of this call");
  const CellEvidence none = with_calls({});
  CHECK(changed_calls(none, &none).missing == "no operator call ran on both sides");
}

TEST_CASE("calls are compared in every process of either side", "[verdict]") {
  const CellEvidence steady = with_calls({layer_norm_call()});
  CellEvidence unsteady = steady;
  unsteady.repeats.push_back(with_calls({layer_norm_call('1', 1)}).repeats.front());
  unsteady.repeats.back().repeat = 1;
  CHECK(*broken_calls(unsteady, &steady).value == 1);
  CHECK(broken_calls(unsteady, &steady).repeat == 1);
  CHECK(*broken_calls(steady, &unsteady).value == 1);
}

}  // namespace
}  // namespace reprobench
