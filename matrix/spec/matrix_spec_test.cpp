#include "matrix/spec/matrix_spec.hpp"

#include "ci/catch.hpp"
#include "matrix/spec/spec_fixture.hpp"

using namespace reprobench;
using namespace std::chrono_literals;

namespace {

MatrixSpec parse(const std::string& more) {
  return parse_matrix(std::string(kGoodMatrix) + more, "m.yaml", spec_test_vocabulary());
}

SuiteSpec parse_good_suite(const std::string& more) {
  return parse_suite(std::string(kGoodSuite) + more, "s.yaml", spec_test_vocabulary());
}

Bound bound_of(const std::string& metric, const std::string& body) {
  const auto rules = parse("thresholds:\n  " + metric + ": " + body + "\n").thresholds;
  REQUIRE(rules.size() == 1);
  REQUIRE(rules.front().bound);
  return *rules.front().bound;
}

}  // namespace

TEST_CASE("axes keep the order of the file and the place of every value", "[spec]") {
  const MatrixSpec matrix = parse("");
  REQUIRE(matrix.axes.size() == 2);
  CHECK(matrix.axes[0].name == "stack");
  CHECK(matrix.axes[0].values == std::vector<std::string>{"a", "b"});
  CHECK(to_string(matrix.axes[0].value_marks[1]) == "m.yaml:5:14");
  CHECK(matrix.reference.at("stack") == "a");
  CHECK(matrix.text.find("reference") != std::string::npos);
}

TEST_CASE("a matrix states only the limits it changes", "[spec]") {
  const TimeLimits suite{1s, 2s, 3s, 4s};
  CHECK(parse("").limits.applied_to(suite).total == 3s);
  CHECK(parse("timeout: 10m\n").limits.applied_to(suite).total == 10min);
  const TimeLimits both = parse("limits: {total: 90s, grace: 250ms}\n").limits.applied_to(suite);
  CHECK(both.total == 90s);
  CHECK(both.grace == 250ms);
  CHECK(both.first_heartbeat == 1s);
  CHECK(both.heartbeat_gap == 2s);
}

TEST_CASE("`required` and `exclude` take a map of coordinates or a `where`", "[spec]") {
  const MatrixSpec matrix = parse(
      "required: [{device: cpu}, {where: \"stack == a\"}]\n"
      "exclude: [{where: {stack: [a, b], device: sm_90}}]\n");
  REQUIRE(matrix.required.size() == 2);
  CHECK(matrix.required[0].where.text() == "device == cpu");
  CHECK(matrix.required[1].where.text() == "stack == a");
  CHECK(matrix.exclude.at(0).where.text() == "stack in (a, b) and device == sm_90");
}

TEST_CASE("`device: present` is of a required cell alone, and what stands beside it selects as ever", "[spec]") {
  const auto rules = parse("required: [{device: present}, {stack: a, device: present}, {device: sm_90}]\n").required;
  REQUIRE(rules.size() == 3);
  CHECK(rules[0].of_present_devices);
  CHECK(rules[0].where.selects_everything());
  CHECK(rules[1].of_present_devices);
  CHECK(rules[1].where.text() == "stack == a");
  CHECK_FALSE(rules[2].of_present_devices);
  for (const char* other : {"exclude: [{device: present}]\n", "required: [{device: [cpu, present]}]\n",
                            "required: [{where: {device: present}}]\n", "required: [{stak: a, device: present}]\n"}) {
    INFO(other);
    CHECK_THROWS_AS(parse(other), SpecError);
  }
}

TEST_CASE("limits of a bound are in the metric's unit, and percentages are fractions", "[spec]") {
  CHECK(bound_of("throughput.step_time", "{max: 1.5ms}").limit == Approx(1.5e6));
  CHECK(bound_of("memory.peak_rss", "{max: 2GiB}").limit == Approx(2147483648.0));
  CHECK(bound_of("memory.peak_rss", "{max: 2GB}").limit == Approx(2e9));
  CHECK(bound_of("numerics.loss_rel", "{max: 1e-5}").limit == Approx(1e-5));
  CHECK(bound_of("numerics.loss_rel", "{max: 2%}").limit == Approx(0.02));
  CHECK(bound_of("numerics.repeat_mismatches", "{max: 0}").limit == 0.0);
  const Bound regression = bound_of("throughput.step_time", "{max_regression: 5%, vs: reference}");
  CHECK(regression.kind == Bound::Kind::max_regression);
  CHECK(regression.limit == Approx(0.05));
  CHECK(regression.vs_reference);
  CHECK(regression.text == "max_regression: 5%");
}

TEST_CASE("a band has two ends in the metric's unit, and both are kept", "[spec]") {
  const Bound band = bound_of("numerics.final_loss", "{band: [-0.5, 1.25]}");
  CHECK(band.kind == Bound::Kind::band);
  CHECK(band.low == -0.5);
  CHECK(band.limit == 1.25);
  CHECK(band.text == "band: [-0.5, 1.25]");
  CHECK(bound_of("memory.peak_rss", "{band: [1MiB, 2GiB]}").low == 1048576.0);
  CHECK_FALSE(bound_of("numerics.loss_rel", "{max: 2%}").low);
}

TEST_CASE("a rule with a gate and no bound only changes the gate", "[spec]") {
  const auto rules =
      parse("thresholds:\n  memory.peak_rss:\n    - {max: 1GiB}\n    - {gate: record_only, where: {device: cpu}}\n")
          .thresholds;
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].gate == Gate::armed);
  CHECK(rules[1].gate == Gate::record_only);
  CHECK_FALSE(rules[1].bound);
  CHECK(to_string(rules[1].mark) == "m.yaml:11:7");
}

TEST_CASE("a suite without limits has the documented ones", "[spec]") {
  const SuiteSpec suite = parse_good_suite("");
  CHECK(suite.limits.total == 10min);
  CHECK(suite.limits.grace == 10s);
  CHECK(suite.repeat == 1);
  CHECK(suite.trace == TraceLevel::step);
  CHECK(suite.workloads.at(0).steps == 20);
}

TEST_CASE("a matrix says how often at least and at most, or nothing of either", "[spec]") {
  CHECK_FALSE(parse("").repeats.repeat);
  CHECK_FALSE(parse("").repeats.max_repeat);
  CHECK(parse("repeat: 2\n").repeats.repeat == 2);
  CHECK_FALSE(parse("repeat: 2\n").repeats.max_repeat);
  CHECK(parse("repeat: 2\nmax_repeat: 1000\n").repeats.max_repeat == 1000);
}

TEST_CASE("a suite's keys reach its fields", "[spec]") {
  const SuiteSpec suite = parse_good_suite(
      "trace: tensor\nrepeat: 3\npoison_last_repeat: true\nexclusive: true\nknobs: {threads: 4, determinism: fast, "
      "max_grad_norm: 0.5}\n");
  CHECK(suite.trace == TraceLevel::tensor);
  CHECK(suite.repeat == 3);
  CHECK(suite.poison_last_repeat);
  CHECK(suite.exclusive);
  CHECK(suite.turns == 0);
  CHECK(parse_good_suite("exclusive: true\nturns: 20\n").turns == 20);
  CHECK(suite.max_repeat == 3);
  CHECK(parse_good_suite("repeat: 3\nmax_repeat: 12\n").max_repeat == 12);
  CHECK(parse_good_suite("max_repeat: 3\nrepeat: 3\n").max_repeat == 3);
  CHECK(suite.world_size == 1);
  CHECK(parse_good_suite("world_size: 2\n").world_size == 2);
  CHECK(suite.knobs == KnobValues{{"threads", "4"}, {"determinism", "fast"}, {"max_grad_norm", "0.5"}});
}

TEST_CASE("a workload may be stopped and resumed, after a step that leaves some", "[spec]") {
  const auto suite_of = [](const std::string& more) {
    const std::string text =
        "schema: 1\nname: s\nworkloads:\n  - {model: mlp, preset: default, steps: 20, batch_size: 32" + more + "}\n";
    return parse_suite(text, "s.yaml", spec_test_vocabulary());
  };
  CHECK(suite_of("").workloads.at(0).resume_after == 0);
  CHECK(suite_of(", resume_after: 19").workloads.at(0).resume_after == 19);
  for (const char* steps : {"20", "21"}) {
    CHECK(spec_error_of([&] { suite_of(std::string(", resume_after: ") + steps); }) ==
          std::string("s.yaml:4:76: error[RB021]: `resume_after` ") + steps + " leaves none of the 20 steps to resume");
  }
  CHECK(spec_error_of([&] { suite_of(", resume_after: 0"); }).find("error[RB021]") != std::string::npos);
  CHECK(suite_of(", resume_after: 9").workloads.at(0).resume_world_size == 0);
  CHECK(suite_of(", resume_after: 9, resume_world_size: 4").workloads.at(0).resume_world_size == 4);
  CHECK(spec_error_of([&] { suite_of(", resume_world_size: 4"); }) ==
        "s.yaml:4:81: error[RB021]: `resume_world_size` 4 without `resume_after`: nothing is resumed");
  CHECK(spec_error_of([&] { suite_of(", resume_after: 9, resume_world_size: 0"); }).find("error[RB021]") !=
        std::string::npos);
}

TEST_CASE("a fault sits in the rank that is named, or in the first", "[spec]") {
  CHECK(parse_inject_option("kind=skip_update,step=1").injection.rank == 0);
  CHECK(parse_inject_option("kind=skip_update,step=1,rank=3").injection.rank == 3);
  CHECK(spec_error_of([] { parse_inject_option("kind=skip_update,step=1,rank=-1"); }) ==
        "--inject:1:30: error[RB021]: `rank` must be from 0 to 4095, got `-1`");
  CHECK(parse_inject_option("kind=skip_update,step=1,repeat=999").repeat == 999);
  CHECK(spec_error_of([] { parse_inject_option("kind=skip_update,step=1,repeat=1000"); }) ==
        "--inject:1:32: error[RB021]: `repeat` must be from 0 to 999, got `1000`");
  const MatrixSpec matrix = parse_matrix(std::string(kGoodMatrix) + "inject: [{kind: skip_update, step: 1}]\n",
                                         "m.yaml", spec_test_vocabulary());
  CHECK(to_string(matrix.inject.at(0).mark) == "m.yaml:8:10");
}

TEST_CASE("the command line's fault is the entry a file would hold", "[spec]") {
  const InjectRule rule =
      parse_inject_option("stack=torch-2.9.0-cu128,repeat=1,step=20,tensor=fc1.weight,element=5,kind=weight_ulp");
  CHECK(rule.where.text() == "stack == torch-2.9.0-cu128");
  CHECK(rule.repeat == 1);
  CHECK(rule.injection.kind == "weight_ulp");
  CHECK(rule.injection.step == 20);
  CHECK(rule.injection.tensor == "fc1.weight");
  CHECK(rule.injection.element == 5);
}

TEST_CASE("a fault the command line gets wrong is refused by place", "[spec]") {
  const auto error_of = [](const std::string& text) { return spec_error_of([&] { parse_inject_option(text); }); };
  CHECK(error_of("kind=weight_ulp,step=0,tensor=w") ==
        "--inject:1:22: error[RB021]: `step` must be from 1 to 100000000, got `0`");
  CHECK(error_of("kind=weight_ulp,stp=3,step=3,tensor=w") ==
        "--inject:1:17: error[RB009]: unknown key `stp`; did you mean `step`?");
  CHECK(error_of("kind=weight_ulp,step,tensor=w") ==
        "--inject:1:1: error[RB018]: required key `step` is missing\n"
        "--inject:1:17: error[RB019]: expected NAME=VALUE, got `step`");
}
