// Probes in suites, and thresholds about their measurements.
#include "ci/catch.hpp"
#include "matrix/spec/spec_fixture.hpp"
#include "matrix/spec/suite_spec.hpp"

namespace reprobench {
namespace {

const std::string kHead =
    "schema: 1\n"
    "name: probes\n"
    "workloads:\n"
    "  - {probe: device_memory, preset: base, samples: 10}\n"
    "thresholds:\n";

std::vector<ThresholdRule> rules_of(const std::string& thresholds) {
  return parse_suite(kHead + thresholds, "s.yaml", spec_test_vocabulary()).thresholds;
}
std::string error_of(const std::string& thresholds) { return suite_error(kHead + thresholds); }

TEST_CASE("a suite may run a probe beside a model", "[spec]") {
  const SuiteSpec suite = parse_suite(
      "schema: 1\nname: s\nworkloads:\n"
      "  - {probe: device_stress, preset: long, samples: 20}\n"
      "  - {model: mlp, preset: base, steps: 5, batch_size: 2}\n",
      "s.yaml", spec_test_vocabulary());
  REQUIRE(suite.workloads.size() == 2);
  CHECK(suite.workloads[0].is_probe());
  CHECK(suite.workloads[0].name() == "device_stress");
  CHECK(suite.workloads[0].samples == 20);
  CHECK_FALSE(suite.workloads[1].is_probe());
}

TEST_CASE("what a probe's entry may say is checked at its place", "[spec]") {
  const auto error_in = [](const std::string& entry) {
    return suite_error("schema: 1\nname: s\nworkloads:\n  - " + entry + "\n");
  };
  CHECK(error_in("{probe: device_memry, preset: base, samples: 1}") ==
        "s.yaml:4:13: error[RB009]: unknown probe `device_memry`; did you mean `device_memory`?");
  CHECK_THAT(error_in("{probe: [device_memory], preset: base, samples: 1}"),
             Catch::StartsWith("s.yaml:4:13: error[RB019]: `probe` must be ") && !Catch::Contains("unknown probe"));
  CHECK_THAT(matrix_error(std::string(kGoodMatrix) + "thresholds:\n  device.bandwidth: {min: 1GB/s, of: [triad]}\n"),
             Catch::StartsWith("m.yaml:9:38: error[RB019]: `operation` must be ") && !Catch::Contains("unknown"));
  CHECK(error_in("{probe: device_stress, preset: lang, samples: 1}") ==
        "s.yaml:4:36: error[RB009]: unknown preset `lang`; did you mean `long`?");
  CHECK(error_in("{probe: device_stress, preset: base, samples: 1, steps: 3}") ==
        "s.yaml:4:54: error[RB009]: unknown key `steps`");
  CHECK(error_in("{probe: device_stress, preset: base}") ==
        "s.yaml:4:5: error[RB018]: required key `samples` is missing");
  CHECK(error_in("{probe: device_stress, preset: base, samples: 0}") ==
        "s.yaml:4:51: error[RB021]: `samples` must be from 1 to 10000, got `0`");
}

TEST_CASE("a threshold names an operation, its labels, and what it is a share of", "[spec]") {
  const auto rules = rules_of(
      "  device.bandwidth_share:\n"
      "    - {min: 92%, of: triad, to: peak}\n"
      "    - {min: 100%, of: {operation: triad, size: 64MiB}, to: copy}\n"
      "    - {min: 50%, to: measured_peak}\n"
      "  device.bandwidth: {min: 1.2TB/s, of: triad}\n"
      "  device.wrong_results: {max: 0}\n");
  REQUIRE(rules.size() == 5);
  CHECK(rules[0].of == MeasurementSelection{"triad", {}, "peak"});
  CHECK(rules[0].bound->limit == Approx(0.92));
  CHECK(rules[1].of == MeasurementSelection{"triad", {{"size", "64MiB"}}, "copy"});
  CHECK(rules[2].of == MeasurementSelection{"", {}, "measured_peak"});
  CHECK(rules[3].bound->limit == Approx(1200));
  CHECK(rules[4].of.empty());
}

TEST_CASE("an operation or label that does not exist or fit is an error at its place", "[spec]") {
  CHECK(error_of("  device.bandwidth: {min: 1GB/s, of: triat}\n") ==
        "s.yaml:6:38: error[RB009]: unknown operation `triat`; did you mean `triad`?");
  CHECK(error_of("  device.bandwidth: {min: 1GB/s, of: gemm}\n") ==
        "s.yaml:6:38: error[RB020]: `gemm` is measured in TFLOP/s, not in GB/s as `device.bandwidth` needs it");
  CHECK(error_of("  device.bandwidth: {min: 1GB/s, of: {operation: triad, sise: 1MiB}}\n") ==
        "s.yaml:6:57: error[RB009]: unknown label `sise`; did you mean `size`?");
  CHECK(error_of("  device.bandwidth_share: {min: 50%, of: triad, to: measured_peek}\n") ==
        "s.yaml:6:53: error[RB009]: unknown operation `measured_peek`; did you mean `measured_peak`?");
  CHECK(error_of("  device.bandwidth_share: {min: 50%, of: triad}\n") ==
        "s.yaml:6:27: error[RB018]: `device.bandwidth_share` is a share of something; add `to: peak`, `to: "
        "measured_peak` or an operation");
  CHECK(error_of("  device.bandwidth: {min: 1GB/s, of: triad, to: peak}\n") ==
        "s.yaml:6:45: error[RB009]: `device.bandwidth` is no share and takes no `to`");
  CHECK(error_of("  numerics.final_loss: {max: 1, of: triad}\n") ==
        "s.yaml:6:33: error[RB009]: `numerics.final_loss` is no metric of a probe and takes no `of`");
  CHECK(error_of("  device.bandwidth: {min: 300, of: triad}\n") ==
        "s.yaml:6:27: error[RB020]: `min` of `device.bandwidth` must be in GB/s, got `300`; write for example 300GB/s");
}

TEST_CASE("rules of one metric for two operations do not contradict each other, for one they do", "[spec]") {
  CHECK(error_of("  device.bandwidth:\n    - {min: 1GB/s, of: triad}\n    - {min: 2GB/s, of: copy}\n").empty());
  CHECK(error_of("  device.bandwidth:\n    - {min: 1GB/s, of: triad}\n    - {min: 2GB/s, of: triad}\n") ==
        "s.yaml:8:7: error[RB039]: contradicts the rule at 7:7: same metric, same cells");
}

}  // namespace
}  // namespace reprobench
