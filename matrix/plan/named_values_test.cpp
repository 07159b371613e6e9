#include "matrix/plan/named_values.hpp"

#include "ci/catch.hpp"
#include "matrix/plan/plan_fixture.hpp"
#include "matrix/spec/spec_fixture.hpp"

using namespace reprobench;

TEST_CASE("a value that a rule names and no cell has is an error, though the rule selects cells", "[plan]") {
  const std::string axes = "axes: {stack: [new, old], precision: [fp32, bf16]}\n";
  const auto error = [&](const std::string& rules) {
    return spec_error_of([&] { expand(parse_test_matrix(axes + rules), {{"smoke", parse_test_suite("smoke")}}); });
  };
  const std::string gone = "no cell has stack `odl`, which this rule names; did you mean `old`?";
  CHECK(error("required: [{stack: [new, odl]}]\n") == "m.yaml:5:12: error[RB024]: " + gone);
  CHECK(error("required: [{suite: [smoke, smoek]}]\n") ==
        "m.yaml:5:12: error[RB024]: no cell has suite `smoek`, which this rule names; did you mean `smoke`?");
  CHECK(error("exclude: [{where: \"stack in (odl, new)\"}]\n") == "m.yaml:5:11: error[RB024]: " + gone);
  CHECK(error("thresholds: {memory.peak_rss: {max: 1GiB, where: \"not (stack == odl)\"}}\n") ==
        "m.yaml:5:31: error[RB024]: " + gone);
  CHECK(error("inject: [{where: \"stack != odl\", repeat: 0, step: 1, kind: skip_update}]\n") ==
        "m.yaml:5:10: error[RB024]: " + gone);
  // A cell that is excluded had the value, and so does one that is included.
  CHECK(error("exclude: [{stack: old}, {where: \"stack == old and precision == bf16\"}]\n").empty());
  CHECK(error("include: [{stack: odl, device: cpu}]\nrequired: [{stack: [new, odl]}]\n").empty());
}

TEST_CASE("a required stack of which a suite has no cell left is an error", "[plan]") {
  const std::map<std::string, SuiteSpec> suites = {{"smoke", parse_test_suite("smoke")},
                                                   {"memory", parse_test_suite("memory")}};
  const auto error = [&](const std::string& rules) {
    const std::string axes =
        "schema: 1\nname: m\nsuites: [smoke, memory]\naxes: {stack: [new, old], device: [cpu, sm_90]}\n";
    return spec_error_of([&] { expand(parse_matrix(axes + rules, "m.yaml", test_vocabulary()), suites); });
  };
  const std::string excluded = "exclude: [{stack: new, suite: memory}]\n";
  CHECK(error(excluded + "required: [{stack: new}]\n") ==
        "m.yaml:6:12: error[RB024]: `new` is required, and `exclude` leaves it no cell of suite `memory`; leave it "
        "one, or "
        "name the suites of which it is required");
  CHECK_FALSE(error(excluded + "required: [{where: \"stack in (new, old) and device == cpu\"}]\n").empty());
  CHECK_THAT(
      error("exclude: [{suite: memory, stack: new}, {suite: smoke, stack: old}]\nrequired: [{stack: [new, old]}]\n"),
      Catch::Contains("`new` is required, and `exclude` leaves it no cell of suite `memory`") &&
          Catch::Contains("`old` is required, and `exclude` leaves it no cell of suite `smoke`"));
  CHECK_THAT(error(excluded + "required: [{stack: old}, {stack: new}]\n"), Catch::Contains("`new` is required"));
  CHECK(error(excluded + "required: [{stack: new, suite: smoke}]\n").empty());
  CHECK(error(excluded + "required: [{stack: old}]\n").empty());
  CHECK(error(excluded + "required: [{device: cpu}]\n").empty());  // names no stack
  CHECK(error("exclude: [{stack: new, suite: memory, device: cpu}]\nrequired: [{stack: new}]\n").empty());
}
