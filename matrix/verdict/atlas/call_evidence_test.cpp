// How many terms an output sums up, by hand, and what is said of two calls that differ.

#include "ci/catch.hpp"
#include "matrix/verdict/atlas/call_comparison.hpp"
#include "matrix/verdict/metrics/probe_metrics.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

CallOutput output_of(const std::string& name, std::vector<std::int64_t> shape, char digit, double error_rel) {
  CallOutput made{
      name, "float32", std::move(shape), std::string(32, digit), error_rel, 0, "", std::vector<double>(8, 1), {}, 1};
  made.fp64_sums = made.sums;
  return made;
}

ProbeMeasurement call_made(const std::string& call, std::vector<CallOutput> outputs) {
  ProbeMeasurement measurement;
  measurement.labels = {{"call", call}};
  measurement.status = MeasurementStatus::measured;
  measurement.call = CallRecord{CallEnd::ran, std::string(32, 'e'), true, std::move(outputs)};
  return measurement;
}

TEST_CASE("an output may be off by the root of the terms that it sums up", "[verdict]") {
  struct Row {
    const char* call;
    std::vector<std::int64_t> shape;
    double terms;
  };
  for (const Row& row : {
           Row{"mm(f32[2, 1000], f32[1000, 3])", {2, 3}, 1000},  // the root of 3000 2000 / 6
           Row{"mm(f32[1000, 3], f32[2, 1000])", {2, 3}, 1000},
           Row{"sum(f32[900])", {}, 900},
           Row{"sum(f32[900, 4])", {4}, 900},
           Row{"relu(f32[64])", {64}, 8},  // what goes in and what comes out: the root of 64 64 / 64
           Row{"add(f32[64], f32[64])", {64}, 8},
           Row{"add(f32[64], f32[4])", {64}, 8},
           Row{"expand(f32[4])", {64}, 2},  // the root of 64 4 / 64
           Row{"relu(f32[1])", {1}, 1},
           Row{"relu(f32[0])", {0}, 1},
       }) {
    INFO(row.call);
    const double floor = std::sqrt(row.terms) * 0x1p-24;
    const auto word = [&](double error_rel) {
      const ProbeMeasurement theirs = call_made(row.call, {output_of("output.0", row.shape, '0', 0)});
      const ProbeMeasurement ours = call_made(row.call, {output_of("output.0", row.shape, '1', error_rel)});
      return compare_calls(&ours, &theirs).word;
    };
    CHECK(word(floor * 0.99) == CallWord::rounding);
    CHECK(word(floor * 1.01) == CallWord::defect);
  }
}

const std::string kRelu = "relu(f32[4])";
ProbeMeasurement relu_made(char digit = '0') {
  return call_made(kRelu, {output_of("output.0", {4}, digit, 1e-8), output_of("gradient.0", {4}, digit, 1e-8)});
}

TEST_CASE("of several outputs the furthest distance is told, whichever comes first", "[verdict]") {
  const ProbeMeasurement theirs = relu_made();
  for (const std::size_t far : {0, 1}) {
    ProbeMeasurement ours = relu_made('1');
    ours.call->outputs[far].sums[0] += 3e-8;
    ours.call->outputs[1 - far].sums[0] += 1e-8;
    const CallComparison found = compare_calls(&ours, &theirs);
    CHECK(*found.distance_rel == Approx(3e-8));
    CHECK(found.differing == std::vector<std::string>{"output.0", "gradient.0"});
  }
}

TEST_CASE("what is said of two calls names the output, the side and the numbers", "[verdict]") {
  const ProbeMeasurement theirs = relu_made();
  ProbeMeasurement ours = relu_made();
  CallOutput& made = ours.call->outputs[1];
  made.digest = std::string(32, '1');
  const auto why = [&] { return compare_calls(&ours, &theirs).why; };
  SECTION("no fp64 here") {
    made.error_rel.reset();
    made.no_fp64 = "here";
    CHECK(why() == "gradient.0 has other bits and no fp64: here");
    CHECK(compare_calls(&theirs, &ours).why == "gradient.0 has other bits and no fp64: here");
  }
  SECTION("other numbers in fp64") {
    made.fp64_sums[0] += 3e-3;
    CHECK(why() == "in fp64 the two sides' gradient.0 are 3.0e-03 apart");
  }
  SECTION("other elements that are not finite") {
    made.not_finite_mismatches = 3;
    CHECK(why() == "3 elements of gradient.0 are not finite, or should not be; the reference's 0");
    CHECK(compare_calls(&theirs, &ours).why ==
          "0 elements of gradient.0 are not finite, or should not be; the reference's 3");
  }
  SECTION("beyond rounding") {
    made.error_rel = 1e-3;
    CHECK(
        why() ==
        "gradient.0 is 1.0e-03 from fp64, the reference's 1.0e-08: it is beyond the 8.4e-08 that rounding takes it to");
    CHECK(compare_calls(&theirs, &ours).why ==
          "gradient.0 is 1.0e-08 from fp64, the reference's 1.0e-03: the reference is beyond the 8.4e-08 that rounding "
          "takes it to");
  }
  SECTION("other inputs") {
    ours.call->inputs = std::string(32, 'f');
    CHECK(why() == "its inputs are not the reference's");
  }
  SECTION("an output of another name") {
    made.name = "gradient.1";
    CHECK(why() == "it makes other tensors, or of another type or shape");
  }
  CHECK(compare_calls(&ours, &theirs).word != CallWord::equal);
}

TEST_CASE("a call without its record on one side is unknown, with the side that lacks it", "[verdict]") {
  const ProbeMeasurement ran = relu_made();
  ProbeMeasurement without = ran;
  without.call.reset();
  ProbeMeasurement refused = ran;
  refused.call->end = CallEnd::refused;
  refused.finding = "no kernel";
  CHECK(compare_calls(&without, &ran).why == "no record of this call");
  CHECK(compare_calls(nullptr, &ran).why == "no record of this call");
  CHECK(compare_calls(&ran, &without).why == "the reference has no record of this call");
  CHECK(compare_calls(&ran, nullptr).why == "the reference has no record of this call");
  CHECK(compare_calls(&ran, &refused).why == "the reference did not run it: no kernel");
  CHECK(compare_calls(&refused, &ran).why == "no kernel");
  using Sides = std::pair<const ProbeMeasurement*, const ProbeMeasurement*>;
  for (const auto& [ours, theirs] : {Sides{&without, &ran}, Sides{&ran, &without}, Sides{&ran, &refused}}) {
    CHECK(compare_calls(ours, theirs).word == CallWord::unknown);
  }
}

TEST_CASE("a call is found by its text among those that are on record", "[verdict]") {
  ProbeMeasurement no_label = relu_made();
  no_label.labels.clear();
  ProbeMeasurement no_record = relu_made();
  no_record.call.reset();
  const std::vector<ProbeMeasurement> all{no_label, no_record, call_made("exp(f32[4])", {}), relu_made(),
                                          relu_made('1')};
  CHECK(find_call(all, kRelu) == &all[3]);
  CHECK(find_call(all, "exp(f32[4])") == &all[2]);
  CHECK(find_call(all, "tan(f32[4])") == nullptr);
  CHECK(find_call({}, kRelu) == nullptr);
}

CellEvidence cell_of_calls(const std::vector<std::vector<ProbeMeasurement>>& by_repeat) {
  CellEvidence cell{"operators", "cpu", "", {}};
  for (const auto& measurements : by_repeat) {
    cell.repeats.push_back(sample::attempt(static_cast<int>(cell.repeats.size()), 1000));
    cell.repeats.back().lead().result->measurements = measurements;
  }
  return cell;
}

TEST_CASE("a count that is not zero has no sentence of its own, and the first repeat of the worst is told",
          "[verdict]") {
  const CellEvidence reference = cell_of_calls({{relu_made()}});
  const Measurement changed =
      changed_calls(cell_of_calls({{relu_made()}, {relu_made('1')}, {relu_made('2')}}), &reference);
  CHECK(changed.value == 1);
  CHECK(changed.repeat == 1);
  CHECK(changed.statement.empty());
  CHECK(changed.finding == "relu(f32[4]): output.0 is 1.0e-08 from fp64, the reference's 1.0e-08");
  CHECK(changed_calls(cell_of_calls({{relu_made()}, {relu_made()}}), &reference).repeat == 0);
  CHECK(changed_calls(cell_of_calls({{relu_made()}}), &reference).statement == "0 of 1 operator calls");
}

}  // namespace
}  // namespace reprobench
