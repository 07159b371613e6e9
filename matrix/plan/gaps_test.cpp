// Required cells of which a dimension is asked and nothing in it can fail.
#include "matrix/plan/gaps.hpp"

#include "ci/catch.hpp"
#include "matrix/plan/plan_fixture.hpp"

using namespace reprobench;

namespace {

constexpr const char* kMemory =
    "thresholds:\n  numerics.repeat_mismatches: {max: 0}\n"
    "  memory.peak_anonymous: {max_regression: 10%, vs: reference}\n";

// "cell: sentence" of every gap, a line each.
std::string gaps_of(const std::string& body, const std::string& suite = kMemory) {
  std::string text;
  for (const PlannedCell& planned : expand(parse_test_matrix(body), {{"smoke", parse_test_suite("smoke", suite)}})) {
    for (const Gap& gap : planned.cell.gaps) {
      CHECK(planned.cell.required);
      text += fmt::format("{} {}: {}: {}\n", planned.cell.request.stack, to_string(gap.dimension), gap.reason,
                          gap.sentence);
    }
  }
  return text;
}

// The matrix of a candidate `new` after `old`, with its threshold rules.
std::string candidate(const std::string& thresholds) {
  return "axes: {stack: [new, old, older]}\nreference: {stack: older}\nrequired: [{stack: new}]\n" +
         (thresholds.empty() ? "" : "thresholds:\n" + thresholds);
}

}  // namespace

TEST_CASE("a rule that was to disarm all stacks but a former candidate leaves the new one a gap", "[plan]") {
  CHECK(gaps_of(candidate("")).empty());
  CHECK(gaps_of(candidate("  memory.peak_anonymous: [{gate: record_only, where: \"stack != new\"}]\n")).empty());
  CHECK(gaps_of(candidate("  memory.peak_anonymous: [{gate: record_only, where: \"stack != old\"}]\n")) ==
        "new memory: unarmed: no check of memory is armed: `memory.peak_anonymous` of smoke.yaml:6:26 is only recorded "
        "here, by m.yaml:8:27, where `stack != old`\n");
  CHECK_FALSE(gaps_of(candidate("  memory.peak_anonymous: {gate: record_only}\n")).empty());
  CHECK(gaps_of(candidate("  memory.*: [{gate: record_only, where: \"stack != new\"}]\n")).empty());
  CHECK(gaps_of(candidate("  memory.*: [{gate: record_only, where: \"stack != old\"}]\n")) ==
        "new memory: unarmed: no check of memory is armed: `memory.peak_anonymous` of smoke.yaml:6:26 is only recorded "
        "here, by m.yaml:8:14, where `stack != old`\n");
}

TEST_CASE("a bound that holds for a former candidate alone leaves the new one a gap", "[plan]") {
  const std::string numerics = "thresholds:\n  numerics.repeat_mismatches: {max: 0}\n";
  const auto of_stack = [&](const char* stack) {
    return gaps_of(candidate(fmt::format("  memory.peak_rss: {{max: 1GiB, where: \"stack == {}\"}}\n", stack)),
                   numerics);
  };
  CHECK(of_stack("new").empty());
  CHECK(of_stack("old") ==
        "new memory: unarmed: no check of memory is armed: `memory.peak_rss` of m.yaml:8:20 holds where `stack == "
        "old`, which does not select this cell\n");
  CHECK_FALSE(of_stack("older").empty());  // the reference
}

TEST_CASE("a bound that only records takes the arms of the one it replaces", "[plan]") {
  const std::string rule = "  memory.peak_anonymous: {max_regression: 10%, vs: reference, gate: record_only}\n";
  CHECK_THAT(gaps_of(candidate(rule)), Catch::Contains("is only recorded here, by m.yaml:8:26\n"));
}

TEST_CASE("a check that a suite only records and a matrix arms for a former candidate leaves the new one a gap",
          "[plan]") {
  const std::string recorded = "thresholds:\n  memory.peak_rss: {max: 1GiB, gate: record_only}\n";
  CHECK(gaps_of(candidate(""), recorded).empty());  // never armed for anybody
  CHECK(gaps_of(candidate("  memory.peak_rss: {gate: armed, where: \"stack == new\"}\n"), recorded).empty());
  CHECK_FALSE(gaps_of(candidate("  memory.peak_rss: {gate: armed, where: \"stack == old\"}\n"), recorded).empty());
}

TEST_CASE("one armed check of a dimension is enough, and a rule for another device is no question", "[plan]") {
  const std::string off = "  memory.peak_anonymous: {gate: record_only}\n";
  CHECK(gaps_of(candidate(off + "  memory.peak_rss: {max: 1GiB}\n")).empty());
  CHECK_FALSE(gaps_of(candidate(off + "  memory.peak_rss: {max: 1GiB, where: {stack: old}}\n")).empty());
  CHECK(gaps_of(candidate("  throughput.step_time: {max: 1s, where: {device: cpu, stack: new}}\n")).empty());
  const std::string devices =
      "axes: {stack: [a], device: [cpu, sm_90]}\nrequired: [{device: sm_90}]\n"
      "thresholds: {memory.peak_rss: {max: 1GiB, where: {device: cpu}}}\n";
  const std::string numerics = "thresholds:\n  numerics.repeat_mismatches: {max: 0}\n";
  CHECK(gaps_of(devices, numerics).empty());
  // Where the matrix compares devices it is: the one that is required lacks what its reference is asked.
  CHECK_FALSE(gaps_of(devices + "reference: {device: cpu}\n", numerics).empty());
}

TEST_CASE("a rule that arms what another device alone is asked is no question to this one", "[plan]") {
  const std::string body =
      "axes: {stack: [new, old], device: [cpu, sm_90]}\nrequired: [{stack: new, device: cpu}]\n"
      "thresholds: {memory.device_peak: {gate: armed, where: {stack: old}}}\n";
  const auto suite = [](const char* device) {
    return fmt::format("thresholds:\n  memory.device_peak: {{max: 1GiB, gate: record_only, where: {{device: {}}}}}\n",
                       device);
  };
  CHECK(gaps_of(body, suite("sm_90")).empty());
  CHECK_FALSE(gaps_of(body, suite("[cpu, sm_90]")).empty());
}

TEST_CASE("what every stack but the reference is asked is no question to a required reference", "[plan]") {
  const std::string rule = "thresholds: {throughput.step_time: {max: 1s, where: \"stack != old\"}}\n";
  const std::string body = "axes: {stack: [new, old]}\nrequired: [{device: cpu}]\n" + rule;
  CHECK(gaps_of(body + "reference: {stack: old}\n").empty());
  CHECK_FALSE(gaps_of(body + "reference: {stack: new}\n").empty());
}

TEST_CASE("a cell that is not required may be asked less", "[plan]") {
  const std::string body =
      "axes: {stack: [new, old]}\nreference: {stack: old}\n"
      "thresholds: {memory.peak_anonymous: {gate: record_only}}\n";
  CHECK(gaps_of(body).empty());
  CHECK_FALSE(gaps_of(body + "required: [{stack: new}]\n").empty());
}

TEST_CASE("a required cell that is its own reference is held against nothing", "[plan]") {
  const std::string axes = "axes: {stack: [new, old]}\nrequired: [{stack: new}]\nreference: ";
  CHECK(gaps_of(axes + "{stack: old}\n").empty());
  CHECK(gaps_of(axes + "{stack: new}\n") ==
        "new memory: own_reference: this cell is its own reference, so `memory.peak_anonymous` of smoke.yaml:6:26 is "
        "held against nothing\nnew numerics: own_reference: this cell is its own reference, by m.yaml:6:1, so its "
        "numbers "
        "are held against nothing\n");
  CHECK(gaps_of("axes: {stack: [new]}\nrequired: [{stack: new}]\nreference: {stack: new}\n") ==
        gaps_of(axes + "{stack: new}\n"));
  // A suite that asks nothing against a reference asks for the numbers.
  CHECK(gaps_of(axes + "{stack: new}\n", "thresholds:\n  numerics.repeat_mismatches: {max: 0}\n") ==
        "new numerics: own_reference: this cell is its own reference, by m.yaml:6:1, so its numbers are held against "
        "nothing\n");
  // What it only records is held against nothing on purpose.
  CHECK(gaps_of(axes + "{stack: new}\n",
                "thresholds:\n  numerics.repeat_mismatches: {max: 0}\n"
                "  memory.peak_anonymous: {max_regression: 10%, vs: reference, gate: record_only}\n")
            .find("memory") == std::string::npos);
  // Required beside a candidate that is compared with it, or of a matrix that compares no stacks.
  CHECK(gaps_of("axes: {stack: [new, old]}\nrequired: [{device: cpu}]\nreference: {stack: old}\n").empty());
  CHECK(gaps_of("axes: {stack: [new], threads: [1, 2]}\nrequired: [{threads: 1}]\nreference: {threads: 1}\n",
                "thresholds:\n  numerics.repeat_mismatches: {max: 0}\n")
            .empty());
}

TEST_CASE("a stale rule that lets the candidate's numbers differ leaves it a gap, whatever else is armed", "[plan]") {
  const auto rule = [](const char* stack) {
    return candidate(
        fmt::format("  numerics.beyond_rounding: [{{gate: record_only, where: \"stack != {}\"}}]\n", stack));
  };
  CHECK(gaps_of(rule("new")).empty());
  CHECK(gaps_of(rule("old")) ==
        "new numerics: unarmed: no check asks whether numbers differ by more than rounding: `numerics.beyond_rounding` "
        "of m.yaml:5:1 is only recorded here, by m.yaml:8:30, where `stack != old`\n");
  // Where a suite lets no bit differ and the rule takes that away, what differs is asked.
  CHECK(gaps_of(candidate("  numerics.reference_mismatches: [{gate: record_only, where: \"stack != old\"}]\n"),
                "thresholds:\n  numerics.reference_mismatches: {max: 0, vs: reference}\n"
                "  numerics.repeat_mismatches: {max: 0}\n")
            .empty());
  // Without a condition somebody decided so, and equal bits ask more.
  CHECK(gaps_of(candidate("  numerics.beyond_rounding: {gate: record_only}\n")).empty());
  CHECK(gaps_of(rule("old") + "  numerics.reference_mismatches: {max: 0, vs: reference}\n",
                std::string(kMemory) + "  numerics.beyond_rounding: {max: 0, vs: reference}\n")
            .empty());
}
