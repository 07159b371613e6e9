#include "matrix/verdict/metrics/probe_metrics.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

ProbeMeasurement measured(const std::string& operation, const std::string& unit, const std::string& size,
                          std::vector<double> samples) {
  ProbeMeasurement measurement;
  measurement.operation = operation;
  measurement.labels = {{"size", size}};
  measurement.unit = unit;
  measurement.status = MeasurementStatus::measured;
  measurement.samples = std::move(samples);
  return measurement;
}

ProbeMeasurement not_timed(const std::string& operation, MeasurementStatus status, const std::string& finding) {
  ProbeMeasurement measurement = measured(operation, "GB/s", "64MiB", {});
  measurement.status = status;
  measurement.finding = finding;
  return measurement;
}

// A card that copies at 3000 and does a triad at `triad` GB/s in memory, faster in its caches.
AttemptRecord memory_attempt(double triad) {
  AttemptRecord attempt = sample::attempt(0, 1000);
  attempt.lead().result->measurements = {measured("copy", "GB/s", "64MiB", {2990, 3000, 3100}),
                                         measured("triad", "GB/s", "64MiB", {triad - 10, triad, triad + 500}),
                                         measured("copy", "GB/s", "1MiB", {9000}),
                                         measured("triad", "GB/s", "1MiB", {8000}),
                                         measured("pointer_chase", "ns", "64MiB", {600}),
                                         measured("pointer_chase", "ns", "1MiB", {200})};
  for (ProbeMeasurement& measurement : attempt.lead().result->measurements) {
    if (measurement.unit == "GB/s" && measurement.labels["size"] == "64MiB") measurement.peak = 3350;
  }
  return attempt;
}

const MeasurementSelection kTriad{"triad", {{"size", "64MiB"}}, ""};
MeasurementSelection triad_to(const std::string& whole) { return {"triad", {{"size", "64MiB"}}, whole}; }

ProbeMeasurement forward_pass(const std::string& operation, const std::string& digest) {
  ProbeMeasurement measurement = measured(operation, "ns", "32", {1000});
  measurement.digest = digest;
  return measurement;
}

CellEvidence forward_cell(std::size_t repeats) {
  CellEvidence cell{"cell", "cpu", "", {}};
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    cell.repeats.push_back(sample::attempt(static_cast<int>(repeat), 1000));
    cell.repeats.back().repeat = static_cast<int>(repeat);
    cell.repeats.back().lead().result->measurements = {forward_pass("eager_forward", "aa"),
                                                       forward_pass("package_forward", "bb"),
                                                       measured("package_differs", "count", "32", {7})};
  }
  return cell;
}

TEST_CASE("forward passes of fresh processes are held against the first by their digests", "[verdict]") {
  CellEvidence cell = forward_cell(3);
  CHECK(forward_mismatches(cell, nullptr).value == 0);
  cell.repeats[2].lead().result->measurements[1].digest = "bc";
  CHECK(forward_mismatches(cell, nullptr).value == 1);
  CHECK(forward_mismatches(cell, nullptr).finding == "first package_forward of repeat 2");
}

TEST_CASE("elements apart from eager are those of a package, of a right one", "[verdict]") {
  CellEvidence cell = forward_cell(1);
  std::vector<ProbeMeasurement>& measurements = cell.repeats[0].lead().result->measurements;
  measurements.push_back(measured("device", "count", "", {9}));
  CHECK(elements_apart(cell.repeats[0], {}).value == 7);
  CHECK(elements_apart(cell.repeats[0], {"package_differs", {}, ""}).value == 7);
  measurements.push_back(measured("package_differs", "count", "16", {8}));
  CHECK(elements_apart(cell.repeats[0], {}).value == 8);
  measurements.erase(measurements.begin() + 2);
  measurements.pop_back();
  CHECK(elements_apart(cell.repeats[0], {}).missing == "the probe measured no package_differs");
}

TEST_CASE("a forward pass without a digest is no equal one", "[verdict]") {
  CHECK(forward_mismatches(forward_cell(1), nullptr).missing == "needs at least 2 repeats, the cell has 1");
  for (const std::size_t repeat : {0, 1}) {
    CellEvidence none = forward_cell(2);
    none.repeats[repeat].lead().result->measurements.clear();
    CHECK(forward_mismatches(none, nullptr).missing ==
          fmt::format("repeat {} left no digest of eager_forward", repeat));
    CellEvidence eager_alone = forward_cell(2);
    eager_alone.repeats[repeat].lead().result->measurements.resize(1);
    CHECK(forward_mismatches(eager_alone, nullptr).missing ==
          fmt::format("repeat {} left no digest of package_forward", repeat));
    CellEvidence wrong_shape = forward_cell(2);
    wrong_shape.repeats[repeat].lead().result->measurements[1].digest.clear();
    CHECK(forward_mismatches(wrong_shape, nullptr).missing ==
          fmt::format("repeat {} left no digest of package_forward", repeat));
  }
  CellEvidence eager_everywhere = forward_cell(2);
  for (AttemptRecord& attempt : eager_everywhere.repeats) attempt.lead().result->measurements.resize(1);
  CHECK_FALSE(forward_mismatches(eager_everywhere, nullptr).value);
}

TEST_CASE("forward passes of another batch, or more of them, are not held together", "[verdict]") {
  CellEvidence other = forward_cell(2);
  other.repeats[1].lead().result->measurements[1].labels["size"] = "16";
  CHECK(forward_mismatches(other, nullptr).missing == "repeat 1 made other passes than the first");
  CellEvidence more = forward_cell(2);
  more.repeats[1].lead().result->measurements.push_back(forward_pass("package_forward", "bb"));
  more.repeats[1].lead().result->measurements.back().labels["size"] = "16";
  CHECK(forward_mismatches(more, nullptr).missing == "repeat 1 made other passes than the first");
  CellEvidence collective = forward_cell(2);
  collective.repeats[1].lead().result->measurements.push_back(measured("all_reduce", "GB/s", "32", {1}));
  collective.repeats[1].lead().result->measurements.back().digest = "cc";
  CHECK(forward_mismatches(collective, nullptr).value == 0);
}

TEST_CASE("a rate is the median of its samples, and the best of what is selected", "[verdict]") {
  const AttemptRecord attempt = memory_attempt(3100);
  CHECK(*best_bandwidth_gb_per_s(attempt, kTriad).value == 3100);
  CHECK(*best_bandwidth_gb_per_s(attempt, {"triad", {}, ""}).value == 8000);
  CHECK(*best_latency_ns(attempt, {}).value == 200);
  CHECK(*best_latency_ns(attempt, {"", {{"size", "64MiB"}}, ""}).value == 600);
}

TEST_CASE("a share is of the data sheet, of another operation labelled alike, or of the best one", "[verdict]") {
  const AttemptRecord attempt = memory_attempt(3100);
  CHECK(*best_bandwidth_share(attempt, triad_to("peak")).value == Approx(3100.0 / 3350));
  CHECK(*best_bandwidth_share(attempt, triad_to("copy")).value == Approx(3100.0 / 3000));
  CHECK(*best_bandwidth_share(attempt, triad_to("measured_peak")).value == 1);
  CHECK(*best_bandwidth_share(memory_attempt(1500), triad_to("measured_peak")).value == 0.5);
}

TEST_CASE("a share of something unknown is missing, with the reason", "[verdict]") {
  const AttemptRecord attempt = memory_attempt(3100);
  CHECK(best_bandwidth_share(attempt, {"triad", {{"size", "1MiB"}}, "peak"}).missing ==
        "the facts have no peak of this CPU for triad size=1MiB");
  CHECK(best_bandwidth_share(attempt, triad_to("scale")).missing ==
        "no scale was measured that triad size=64MiB could be a share of");
  CHECK(best_bandwidth_gb_per_s(attempt, {"peer", {}, ""}).missing == "the probe measured no peer");
}

TEST_CASE("what is wrong or cannot be done has no rate, and only the wrong is counted", "[verdict]") {
  AttemptRecord attempt = memory_attempt(3100);
  attempt.lead().result->measurements = {not_timed("triad", MeasurementStatus::wrong, "2 of 4 elements are wrong"),
                                         not_timed("peer", MeasurementStatus::unsupported, "there is one device")};
  CHECK(*wrong_results(attempt, {}).value == 1);
  CHECK(wrong_results(attempt, {}).finding ==
        "first triad: 2 of 4 elements are wrong; 1 more could not be done, first peer size=64MiB: there is one device");
  CHECK(best_bandwidth_gb_per_s(attempt, {"triad", {}, ""}).missing ==
        "triad was not timed: 2 of 4 elements are wrong");
  CHECK(wrong_results(attempt, {"peer", {}, ""}).missing == "peer was not timed: there is one device");
}

TEST_CASE("of several wrong results the first is named, and a wrong one is the reason before one that cannot be",
          "[verdict]") {
  AttemptRecord attempt = memory_attempt(3100);
  attempt.lead().result->measurements = {not_timed("peer", MeasurementStatus::unsupported, "there is one device"),
                                         not_timed("scale", MeasurementStatus::wrong, "1 of 4"),
                                         not_timed("triad", MeasurementStatus::wrong, "2 of 4"),
                                         not_timed("unified", MeasurementStatus::unsupported, "no such memory")};
  CHECK(*wrong_results(attempt, {}).value == 2);
  CHECK(wrong_results(attempt, {}).finding ==
        "first scale: 1 of 4; 2 more could not be done, first peer size=64MiB: there is one device");
  CHECK(best_bandwidth_gb_per_s(attempt, {}).missing == "scale was not timed: 1 of 4");
  CHECK(best_bandwidth_share(attempt, triad_to("peak")).missing == "triad was not timed: 2 of 4");
  attempt.lead().result->measurements = {measured("copy", "GB/s", "1MiB", {1}),
                                         not_timed("peer", MeasurementStatus::unsupported, "there is one device")};
  CHECK(*wrong_results(attempt, {}).value == 0);
  CHECK(wrong_results(attempt, {}).finding == "1 more could not be done, first peer size=64MiB: there is one device");
}

TEST_CASE("each kind of rate is of measurements in its own unit", "[verdict]") {
  AttemptRecord attempt = memory_attempt(3100);
  auto& measurements = attempt.lead().result->measurements;
  measurements.push_back(measured("gemm", "TFLOP/s", "64MiB", {400}));
  measurements.push_back(measured("gemm", "TFLOP/s", "1MiB", {300}));
  measurements.push_back(measured("capacity", "bytes", "64MiB", {7}));
  measurements.push_back(measured("capacity", "bytes", "1MiB", {5}));
  CHECK(*best_bandwidth_gb_per_s(attempt, {}).value == 9000);
  CHECK(*best_flop_rate_tflop_per_s(attempt, {}).value == 400);
  CHECK(*verified_bytes(attempt, {}).value == 7);
  CHECK(*best_latency_ns(attempt, {}).value == 200);
  CHECK(best_flop_share(attempt, {"gemm", {}, "peak"}).missing == "the facts have no peak of this CPU for gemm");
  measurements[6].peak = 800;
  measurements[7].peak = 400;
  CHECK(*best_flop_share(attempt, {"gemm", {}, "peak"}).value == 0.75);  // 300 of 400, not 400 of 800
  measurements[7].peak = 0;
  CHECK(*best_flop_share(attempt, {"gemm", {}, "peak"}).value == 0.5);
}

TEST_CASE("the measured peak is that of the same labels, whatever the shape", "[verdict]") {
  AttemptRecord attempt = memory_attempt(3100);
  const auto product = [](const char* shape, const char* dtype, double rate) {
    ProbeMeasurement one = measured("gemm", "TFLOP/s", "", {rate});
    one.labels = {{"shape", shape}, {"dtype", dtype}};
    return one;
  };
  attempt.lead().result->measurements = {product("8x8x8", "bf16", 100), product("4096x4096x4096", "bf16", 400),
                                         product("4096x4096x4096", "fp8", 900)};
  CHECK(*best_flop_share(attempt, {"gemm", {{"shape", "8x8x8"}}, "measured_peak"}).value == 0.25);
}

TEST_CASE("differing repetitions are added up", "[verdict]") {
  AttemptRecord attempt = memory_attempt(3100);
  CHECK(differing_results(attempt, {}).missing == "no result of anything was repeated");
  attempt.lead().result->measurements[0].results_compared = 100;
  CHECK(*differing_results(attempt, {}).value == 0);
  CHECK(differing_results(attempt, kTriad).missing == "no result of triad size=64MiB was repeated");
  attempt.lead().result->measurements[0].results_differing = 3;
  attempt.lead().result->measurements[1].results_differing = 4;
  CHECK(*differing_results(attempt, {}).value == 7);
  CHECK(differing_results(attempt, {"peer", {}, ""}).missing == "the probe measured no peer");
  attempt.lead().result->measurements = {not_timed("peer", MeasurementStatus::unsupported, "there is one device")};
  CHECK(differing_results(attempt, {}).missing == wrong_results(attempt, {}).missing);
}

CellResult with_algorithms(const std::string& of_bf16, const std::string& of_fp16) {
  CellResult result;
  for (const auto& [dtype, algorithm] : {std::pair("bf16", of_bf16), std::pair("fp16", of_fp16)}) {
    ProbeMeasurement measurement = measured("conv", "TFLOP/s", "64MiB", {400});
    measurement.labels = {{"dtype", dtype}};
    measurement.algorithm = algorithm;
    result.measurements.push_back(measurement);
  }
  return result;
}

TEST_CASE("another algorithm than the reference's is counted and named, an unknown one is not", "[verdict]") {
  const CellResult reference = with_algorithms("implicit_gemm", "implicit_gemm");
  CHECK(*changed_algorithms_between(reference, reference).value == 0);
  CHECK(changed_algorithms_between(reference, reference).finding.empty());
  const Measurement one = changed_algorithms_between(with_algorithms("implicit_gemm", "winograd"), reference);
  CHECK(*one.value == 1);
  CHECK(one.finding == "conv dtype=fp16 by winograd, the reference's by implicit_gemm");
  const Measurement both = changed_algorithms_between(with_algorithms("fft", "winograd"), reference);
  CHECK(*both.value == 2);
  CHECK(both.finding == "first conv dtype=bf16 by fft, the reference's by implicit_gemm");
  CHECK(*changed_algorithms_between(with_algorithms("", "implicit_gemm"), reference).value == 0);
  CHECK(changed_algorithms_between(with_algorithms("", ""), reference).missing ==
        "no operation's algorithm is known on both sides");
}

TEST_CASE("a check of algorithms says which operation changed, and refuses another class of device", "[verdict]") {
  RunRecord run = sample::run(1, 1, {sample::threshold("device.changed_algorithms", Bound::Kind::max, 0, false)});
  sample::candidate(run).attempts[0].lead().result->measurements = with_algorithms("fft", "fft").measurements;
  for (CellRecord& record : run.cells) {
    if (record.cell_id != sample::kReferenceId) continue;
    record.attempts[0].lead().result->measurements = with_algorithms("fft", "implicit_gemm").measurements;
  }
  const CheckResult changed = sample::candidate(judge(run)).checks.at(0);
  CHECK(changed.status == CheckStatus::failed);
  CHECK(changed.sentence == "1 > 0; conv dtype=fp16 by fft, the reference's by implicit_gemm");
  for (PlannedCell& planned : run.plan.cells) {
    if (planned.cell.request.cell_id == sample::kReferenceId) planned.cell.request.device = "sm_80";
  }
  const CheckResult elsewhere = sample::candidate(judge(run)).checks.at(0);
  CHECK(elsewhere.status == CheckStatus::inconclusive);
  CHECK(elsewhere.sentence == "a library chooses anew for every class of device");
}

CellThreshold of_triad(double share, const std::string& whole) {
  CellThreshold threshold = sample::threshold("device.bandwidth_share", Bound::Kind::min, share, false);
  threshold.of = triad_to(whole);
  return threshold;
}

CellVerdict judged(const AttemptRecord& attempt, std::vector<CellThreshold> thresholds) {
  RunRecord run = sample::run(1, 1, std::move(thresholds));
  sample::candidate(run).attempts = {attempt};
  return sample::candidate(judge(run));
}

TEST_CASE("a triad over its bounds passes, a slow one fails with operation and share", "[verdict]") {
  const std::vector<CellThreshold> goals = {of_triad(0.92, "peak"), of_triad(1.0, "copy")};
  const CellVerdict good = judged(memory_attempt(3100), goals);
  CHECK(good.outcome == Outcome::passed);
  CHECK(std::ranges::count(good.measurements, 0, &RepeatedMeasurement::repeat) == 6);
  const CellVerdict slow = judged(memory_attempt(2800), goals);
  CHECK(slow.outcome == Outcome::failed);
  REQUIRE(slow.checks.size() == 2);
  CHECK(slow.checks[0].of == "triad size=64MiB to peak");
  CHECK(slow.checks[0].sentence == "triad size=64MiB to peak: 0.836 < 0.92");
  CHECK(slow.checks[1].sentence == "triad size=64MiB to copy: 0.933 < 1");
}

TEST_CASE("on a device without a data sheet a share of peak is inconclusive, never passed", "[verdict]") {
  AttemptRecord attempt = memory_attempt(3100);
  for (ProbeMeasurement& measurement : attempt.lead().result->measurements) measurement.peak.reset();
  attempt.lead().result->fingerprint.device = DeviceFacts{};
  attempt.lead().result->fingerprint.device->name = "NVIDIA Unheard Of";
  const CellVerdict verdict = judged(attempt, {of_triad(0.92, "peak")});
  CHECK(verdict.outcome == Outcome::inconclusive);
  CHECK(verdict.checks[0].reason == "missing_metric");
  CHECK(verdict.checks[0].sentence ==
        "triad size=64MiB to peak: the facts have no peak of NVIDIA Unheard Of for triad size=64MiB");
}

}  // namespace
}  // namespace reprobench
