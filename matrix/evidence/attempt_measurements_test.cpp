// Which measurements a probe, or a training, has to leave and may leave.
#include "ci/catch.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/evidence/attempt_folder.hpp"

namespace reprobench {
namespace {

// The same attempt as one of a probe: measurements take the place of steps.
void turn_into_probe(SampleAttempt& sample) {
  sample.request.workload = {"", "base", 0, 0, "device_memory", 1};
  ProbeMeasurement triad;
  triad.operation = "triad";
  triad.unit = "GB/s";
  triad.status = MeasurementStatus::measured;
  triad.samples = {12.5};
  sample.lines = {sample.lines.front(), measurement_line(triad), to_json(TensorsRecord{0, true, {}})};
  sample.result.measurements = {triad};
  sample.result.steps_completed = 0;
  sample.result.trace_lines = 3;
}

TEST_CASE("a probe is completed by its measurements, in the trace and the result alike", "[evidence]") {
  AttemptFolder scene;
  turn_into_probe(scene.sample);
  const AttemptRecord good = scene.load();
  CHECK(good.detail == "exit code 0");
  CHECK(good.end == AttemptEnd::completed);
  CHECK(good.lead().result->measurements.front().samples == std::vector{12.5});
  scene.sample.result.measurements.front().samples = {99};
  CHECK(scene.load().detail == "result.json: its 1 measurements are not the 1 of the trace");
  scene.sample.result.measurements.clear();
  scene.sample.lines.erase(scene.sample.lines.begin() + 1);
  scene.sample.result.trace_lines = 2;
  const AttemptRecord empty = scene.load();
  CHECK(empty.end == AttemptEnd::contract);
  CHECK(empty.detail == "trace.jsonl: the probe recorded no measurement");
}

TEST_CASE("a probe of ranks is completed by all its operations, one of calls by all its calls", "[evidence]") {
  AttemptFolder scene;
  turn_into_probe(scene.sample);
  const auto records = [&](std::vector<ProbeMeasurement> measurements) {
    scene.sample.lines = {scene.sample.lines.front()};
    for (const ProbeMeasurement& one : measurements) scene.sample.lines.push_back(measurement_line(one));
    scene.sample.lines.push_back(to_json(TensorsRecord{0, true, {}}));
    scene.sample.result.trace_lines = static_cast<std::int64_t>(measurements.size()) + 2;
    scene.sample.result.measurements = std::move(measurements);
    return scene.load().detail;
  };
  ProbeMeasurement one = scene.sample.result.measurements.front();

  scene.sample.request.workload.probe = "collectives";
  one.unit = "ns";
  std::vector<ProbeMeasurement> operations;
  for (const ProbeOperation& operation : find_probe("collectives")->operations) {
    one.operation = operation.name;
    operations.push_back(one);
  }
  CHECK(records(operations) == "exit code 0");
  // A wrong one behind the right one, which nobody would look at.
  operations.push_back(operations.front());
  operations.back().status = MeasurementStatus::wrong;
  operations.back().samples.clear();
  operations.back().finding = "in call 3 element 1 is 2, not 1";
  CHECK(records(operations) == "trace.jsonl: `all_reduce` with the same labels is measured twice");
  operations.back().labels = {{"size", "8B"}};
  CHECK(records(operations) == "exit code 0");
  operations.pop_back();
  operations.erase(operations.begin() + 2);
  CHECK(records(operations) == "trace.jsonl: no measurement in its place of reduce_scatter");

  scene.sample.request.workload.probe = kOperatorsProbe;
  scene.sample.request.workload.calls = {"relu(f32[2])", "exp(f32[2])"};
  const auto call = [&](const std::string& text) {
    ProbeMeasurement measurement = one;
    measurement.labels = {{"call", text}};
    measurement.call = CallRecord{CallEnd::absent, "", true, {}};
    return measurement;
  };
  const ProbeMeasurement relu = call("relu(f32[2])");
  const ProbeMeasurement exp = call("exp(f32[2])");
  CHECK(records({relu, exp}) == "exit code 0");
  CHECK(records({relu}) == "trace.jsonl: no measurement in its place of exp(f32[2])");
  CHECK(records({exp, relu}) == "trace.jsonl: no measurement in its place of relu(f32[2])");
  CHECK(records({relu, exp, call("tanh(f32[2])")}) ==
        "trace.jsonl: no measurement in its place of tanh(f32[2]), which was not asked for");
}

TEST_CASE("a training that records measurements breaks the contract", "[evidence]") {
  AttemptFolder scene;
  SampleAttempt probe;
  turn_into_probe(probe);
  scene.sample.lines.insert(scene.sample.lines.begin() + 1, probe.lines[1]);
  scene.sample.result.trace_lines += 1;
  scene.sample.result.measurements = probe.result.measurements;
  CHECK(scene.load().detail == "trace.jsonl: a measurement of `triad` in a training");
  scene.sample.request.gemm_peak_samples = 5;
  CHECK(scene.load().detail == "trace.jsonl: a measurement of `triad` in a training");
}

TEST_CASE("a training may have timed matrix products if it was asked to, and those of its trace alone", "[evidence]") {
  AttemptFolder scene;
  ProbeMeasurement gemm;
  gemm.operation = "gemm";
  gemm.unit = "TFLOP/s";
  gemm.status = MeasurementStatus::measured;
  gemm.samples = {0.05};
  scene.sample.lines.push_back(measurement_line(gemm));
  scene.sample.result.trace_lines += 1;
  scene.sample.result.measurements = {gemm};
  CHECK(scene.load().detail == "trace.jsonl: a measurement of `gemm` in a training");
  scene.sample.request.gemm_peak_samples = 5;
  CHECK(scene.load().end == AttemptEnd::completed);
  scene.sample.result.measurements[0].samples = {0.5};
  CHECK(scene.load().detail == "result.json: its 1 measurements are not the 1 of the trace");
}

}  // namespace
}  // namespace reprobench
