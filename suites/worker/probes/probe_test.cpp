// Whole probes on the CPU, with and without a planted fault.
#include "suites/worker/probes/probe.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <ATen/core/Tensor.h>

#include "ci/catch.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/contract/trace.hpp"
#include "suites/worker/cpu_fixture.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

CellRequest request_of(const std::string& probe) {
  CellRequest request;
  request.cell_id = "3f9c1e0a7b52";
  request.nonce = "0123456789abcdef";
  request.workload = {"", "base", 0, 0, probe, 2};
  request.device = "cpu";
  request.knobs = with_defaults({});
  return request;
}

struct ProbedOnce {
  std::vector<ProbeMeasurement> measurements;
  std::vector<std::string> kinds;  // of the trace's lines, in their order
};

ProbedOnce probed(const CellRequest& request) {
  const TemporaryFolder folder;
  CellResult result;
  run_probe(request, folder.path(), result);
  ProbedOnce all{result.measurements, {}};
  std::vector<std::string> in_trace;
  std::ifstream trace(folder.path() / "trace.jsonl");
  std::string line;
  for (std::int64_t seq = 0; std::getline(trace, line); ++seq) {
    const auto checked = parse_trace_line(line, seq);
    REQUIRE(checked.index() == 0);
    const auto& body = std::get<0>(checked);
    all.kinds.push_back(body.at("kind"));
    if (body.at("kind") == "measurement") in_trace.push_back(to_json(measurement_from_line(body)).dump());
  }
  std::vector<std::string> in_result;
  for (const ProbeMeasurement& measurement : result.measurements) in_result.push_back(to_json(measurement).dump());
  CHECK(in_trace == in_result);
  const auto progress = std::count(all.kinds.begin(), all.kinds.end(), "progress");
  CHECK(result.trace_lines == static_cast<std::int64_t>(result.measurements.size()) + progress + 2);
  return all;
}

std::vector<ProbeMeasurement> measurements_of(const CellRequest& request) { return probed(request).measurements; }

// A probe without a fault is run once for all tests that look at it: it takes seconds.
const ProbedOnce& clean(const std::string& probe) {
  static std::map<std::string, ProbedOnce> known;
  const auto found = known.find(probe);
  return found != known.end() ? found->second : known.emplace(probe, probed(request_of(probe))).first->second;
}

// The CPU of a host that has little memory left, so that a probe of it is small.
class CrowdedCpu final : public PlayedCpu {
 public:
  std::int64_t free_bytes() const override { return std::int64_t{512} << 20; }
};

std::vector<ProbeMeasurement> memory_with(const Injection& fault, int samples = 2) {
  CellRequest request = request_of("device_memory");
  request.workload.samples = samples;
  request.inject = fault;
  const TemporaryFolder folder;
  CellResult result;
  CrowdedCpu device;
  TraceWriter trace(folder.path() / "trace.jsonl");
  ProbeRun run(request, folder.path(), device, trace, result);
  probe_device_memory(run);
  return result.measurements;
}

const ProbeMeasurement& find(const std::vector<ProbeMeasurement>& measurements, const MeasurementSelection& wanted) {
  for (const ProbeMeasurement& measurement : measurements) {
    if (wanted.selects(measurement)) return measurement;
  }
  throw std::runtime_error("no measurement of " + wanted.text());
}

TEST_CASE("every probe measures all the operations it declares, none of them wrongly, every sample kept", "[probe]") {
  const std::string probe = GENERATE("device_smoke", "device_memory", "device_compute", "device_stress");
  std::set<std::string> seen;
  for (const ProbeMeasurement& measurement : clean(probe).measurements) {
    CAPTURE(probe, measurement.operation, measurement.labels, measurement.finding);
    seen.insert(measurement.operation);
    CHECK(measurement.status != MeasurementStatus::wrong);
    CHECK_FALSE(measurement.peak);
    if (measurement.status == MeasurementStatus::unsupported) {
      CHECK_FALSE(measurement.finding.empty());
    } else if (measurement.unit == "GB/s" || measurement.unit == "TFLOP/s" || measurement.unit == "ns") {
      CHECK(measurement.samples.size() == 2);
      CHECK(measurement.samples.front() > 0);
    }
  }
  for (const ProbeOperation& operation : find_probe(probe)->operations) CHECK(seen.count(std::string(operation.name)));
}

// A file that grows is what tells a long measurement from a hang.
TEST_CASE("a stress leaves a line in the trace with each sample", "[probe]") {
  const TemporaryFolder folder;
  CellResult result;
  CellRequest request = request_of("device_stress");
  request.workload.samples = 3;
  run_probe(request, folder.path(), result);
  std::ifstream trace(folder.path() / "trace.jsonl");
  std::vector<std::size_t> samples;
  for (std::string line; std::getline(trace, line);) {
    const nlohmann::json body = nlohmann::json::parse(line);
    if (body.at("kind") == "progress") samples.push_back(body.at("samples").size());
  }
  CHECK(samples == std::vector<std::size_t>{1, 2, 3});
}

TEST_CASE("a measurement says when it was timed, one after the other", "[probe]") {
  std::int64_t last_ns = 0;
  for (const ProbeMeasurement& measurement : clean("device_compute").measurements) {
    CAPTURE(measurement.operation, measurement.labels);
    const bool is_timed = measurement.status == MeasurementStatus::measured;
    CHECK(measurement.timed_from_ns.has_value() == is_timed);
    CHECK(measurement.timed_to_ns.has_value() == is_timed);
    if (!is_timed) continue;
    CHECK(*measurement.timed_from_ns >= last_ns);
    CHECK(*measurement.timed_to_ns > *measurement.timed_from_ns);
    last_ns = *measurement.timed_to_ns;
  }
}

// What was seen of a call is complete only after the last sample of the probe was taken.
TEST_CASE("kernels are watched after everything was timed", "[probe]") {
  const std::vector<std::string>& kinds = clean("device_compute").kinds;
  CHECK(std::count(kinds.begin(), kinds.end(), "progress") > 10);
  const auto first = std::find(kinds.begin(), kinds.end(), "measurement");
  CHECK(first != kinds.end());
  CHECK(std::find(first, kinds.end(), "progress") == kinds.end());
}

TEST_CASE("new memory is not filled while a probe is timed, though results are deterministic", "[probe]") {
  const TemporaryFolder folder;
  CellResult result;
  CellRequest request = request_of("device_stress");
  run_probe(request, folder.path(), result);
  CHECK(result.knobs_resolved.at("determinism") == "strict");
  CHECK(result.knobs_resolved.at("deterministic_fill") == "off");
  if (find(result.measurements, {"repeated_gemm", {}, ""}).samples.empty()) FAIL("nothing was timed");
}

// Which, depends on the CPU and the libraries; that every operation has a word or a reason does not.
TEST_CASE("what a library chooses to do is recorded with the kernels that show it", "[probe]") {
  const std::string probe = GENERATE("device_compute", "device_stress");
  for (const ProbeMeasurement& measurement : clean(probe).measurements) {
    CAPTURE(measurement.operation, measurement.labels, measurement.kernels, measurement.algorithm_unknown);
    if (measurement.status != MeasurementStatus::measured) continue;
    CHECK_FALSE(measurement.kernels.empty());
    CHECK(measurement.algorithm.empty() != measurement.algorithm_unknown.empty());
    // LibTorch's operators alone tell of these, whatever lies beneath them.
    CHECK_FALSE(measurement.algorithm.empty());
  }
  for (const ProbeMeasurement& measurement : clean("device_smoke").measurements) {
    CHECK(measurement.kernels.empty());
    CHECK(measurement.algorithm_unknown.empty());
  }
}

// A device whose calls come to what a test says.
class ScriptedCpu final : public PlayedCpu {
 public:
  explicit ScriptedCpu(WatchedWork seen) : seen_(std::move(seen)) {}
  WatchedWork launched_by(const std::function<void()>& work) override {
    work();
    return seen_;
  }

 private:
  WatchedWork seen_;
};

// One operation for which a library chooses, within measure_then_watch() or alone.
ProbeMeasurement watched_on(WatchedWork seen, bool is_watched = true) {
  const TemporaryFolder folder;
  const CellRequest request = request_of("device_compute");
  CellResult result;
  ScriptedCpu device(std::move(seen));
  TraceWriter trace(folder.path() / "trace.jsonl");
  ProbeRun run(request, folder.path(), device, trace, result);
  const at::Tensor a = run.random_whole("a", 16);
  const Operation operation{"gemm",
                            {},
                            1,
                            [&] { return a.mul(2); },
                            [](const at::Tensor&) { return Correctness{true}; },
                            /*shows_algorithm=*/true};
  const auto measure = [&] { run.measure(operation); };
  is_watched ? run.measure_then_watch(measure) : measure();
  return result.measurements.at(0);
}

TEST_CASE("an algorithm is read from what ran, or why it is not known is said", "[probe]") {
  const ProbeMeasurement by_operator = watched_on({{"aten::mm"}, "nobody listened"});
  CHECK(by_operator.algorithm == "gemm");
  CHECK(by_operator.algorithm_unknown.empty());
  const std::vector<std::string> amx = {"aten::clone", "aten::_local_scalar_dense"};
  const ProbeMeasurement nothing = watched_on({amx, ""});
  CHECK(nothing.kernels == amx);
  CHECK(nothing.algorithm.empty());
  CHECK(nothing.algorithm_unknown == "no name of what ran tells it");
  CHECK(watched_on({amx, "oneDNN has no switch"}).algorithm_unknown ==
        "no name of what ran tells it; oneDNN has no switch");
  CHECK(watched_on({{}, ""}).algorithm_unknown == "nothing was seen of what ran");
  std::vector<std::string> heard = amx;
  heard.push_back("onednn matmul brg_matmul:avx512_core_amx");
  const ProbeMeasurement by_library = watched_on({heard, ""});
  CHECK(by_library.kernels == heard);
  CHECK(by_library.algorithm == "gemm");
  CHECK(by_library.algorithm_unknown.empty());
}

// Done by `kernels` with this error; the bound is 2 of direct sums, 4 of Winograd and 8 of who knows what.
ProbeMeasurement convolved_by(std::vector<std::string> kernels, double error_rel) {
  const TemporaryFolder folder;
  const CellRequest request = request_of("device_compute");
  CellResult result;
  ScriptedCpu device({std::move(kernels), ""});
  TraceWriter trace(folder.path() / "trace.jsonl");
  ProbeRun run(request, folder.path(), device, trace, result);
  const at::Tensor a = run.random_whole("a", 16);
  Operation operation{"conv", {}, 1, [&] { return a.mul(2); }, {}, /*shows_algorithm=*/true};
  operation.bound_of = [](std::string_view algorithm) {
    return algorithm == "implicit_gemm" ? 2.0 : algorithm == "winograd" ? 4.0 : 8.0;
  };
  operation.check = [&](const at::Tensor&) { return within(error_rel, operation.bound_of("")); };
  run.measure_then_watch([&] { run.measure(operation); });
  return result.measurements.at(0);
}

TEST_CASE("an error is held to the bound of the algorithm that was seen, and to the widest where none was", "[probe]") {
  const ProbeMeasurement tiled = convolved_by({"ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"}, 3);
  CHECK(tiled.status == MeasurementStatus::measured);
  CHECK(tiled.error_bound_rel == 4.0);
  CHECK_FALSE(tiled.samples.empty());
  CHECK(convolved_by({"some_new_kernel"}, 7).status == MeasurementStatus::measured);
  CHECK(convolved_by({"some_new_kernel"}, 7).error_bound_rel == 8.0);
  CHECK(convolved_by({"some_new_kernel"}, 9).status == MeasurementStatus::wrong);
  const ProbeMeasurement direct = convolved_by({"ampere_scudnn_128x64_relu_small_nn_v1"}, 3);
  CHECK(direct.algorithm == "implicit_gemm");
  CHECK(direct.status == MeasurementStatus::wrong);
  CHECK(direct.finding == "off by 3.0 from fp64, relative L2; at most 2.0 is rounding");
  CHECK(direct.samples.empty());
  CHECK_FALSE(direct.timed_from_ns.has_value());
  CHECK_FALSE(direct.timed_to_ns.has_value());
}

TEST_CASE("convolutions on the CPU have the bound of what did them", "[probe]") {
  for (const ProbeMeasurement& measurement : clean("device_compute").measurements) {
    if (measurement.operation != "conv" || measurement.status != MeasurementStatus::measured) continue;
    CAPTURE(measurement.labels, measurement.algorithm);
    CHECK(measurement.error_bound_rel ==
          convolution_error_bound_rel(measurement.labels.at("dtype"), 16, measurement.algorithm));
  }
}

TEST_CASE("what was timed and not watched says so", "[probe]") {
  const ProbeMeasurement alone = watched_on({{"aten::mm"}, ""}, /*is_watched=*/false);
  CHECK(alone.kernels.empty());
  CHECK(alone.algorithm.empty());
  CHECK(alone.algorithm_unknown == "it was timed and not watched");
}

TEST_CASE("a probe that ends before it watched says so of all that it timed", "[probe]") {
  const TemporaryFolder folder;
  const CellRequest request = request_of("device_compute");
  CellResult result;
  ScriptedCpu device({{"aten::mm"}, ""});
  TraceWriter trace(folder.path() / "trace.jsonl");
  ProbeRun run(request, folder.path(), device, trace, result);
  const at::Tensor a = run.random_whole("a", 16);
  const auto measure = [&] {
    run.measure({"gemm", {}, 1, [&] { return a.mul(2); }, [](const at::Tensor&) { return Correctness{true}; }, true});
    throw RunFailure("interrupted", "asked to stop");
  };
  CHECK_THROWS_AS(run.measure_then_watch(measure), RunFailure);
  CHECK(result.measurements.at(0).algorithm_unknown == "the probe ended before it was watched");
}

TEST_CASE("a wrong result is found and not timed, and leaves the others alone", "[probe]") {
  const std::string operation = GENERATE("triad", "copy", "read_sum", "pointer_chase");
  for (const ProbeMeasurement& measurement : memory_with({"result_wrong", 1, operation, 5})) {
    CAPTURE(measurement.operation, measurement.finding);
    CHECK((measurement.status == MeasurementStatus::wrong) == (measurement.operation == operation));
    if (measurement.operation == operation) CHECK(measurement.samples.empty());
  }
}

TEST_CASE("one wrong element of a product is found in every type by its distance to fp64", "[probe]") {
  CellRequest request = request_of("device_compute");
  request.inject = Injection{"result_wrong", 1, "gemm", 7};
  for (const ProbeMeasurement& measurement : measurements_of(request)) {
    CAPTURE(measurement.labels, measurement.finding);
    if (measurement.operation != "gemm" || measurement.status == MeasurementStatus::unsupported) continue;
    CHECK(measurement.status == MeasurementStatus::wrong);
    CHECK_FALSE(*measurement.error_rel <= *measurement.error_bound_rel);
  }
}

TEST_CASE("a single flipped bit among thousands of products is found, with its place", "[probe]") {
  const ProbeMeasurement unchanged = clean("device_stress").measurements.front();
  CHECK(unchanged.results_compared > 1);
  CHECK(unchanged.results_differing == 0);
  CellRequest request = request_of("device_stress");
  request.inject = Injection{"result_bit", 2, "repeated_gemm", 4711};
  const ProbeMeasurement flipped = measurements_of(request).front();
  CHECK(flipped.results_differing == 1);
  CHECK(flipped.finding == "in sample 2 1 of 65536 elements differ from the first product, the first at 4711");
}

TEST_CASE("a memory cell that holds something else is found at its address", "[probe]") {
  const ProbeMeasurement capacity = find(memory_with({"result_bit", 1, "capacity", 12345}), {"capacity", {}, ""});
  CHECK(capacity.status == MeasurementStatus::wrong);
  CHECK(capacity.finding == "1 words are wrong: word 12345 holds 12344 instead of 12345");
}

TEST_CASE("an operation made ten times slower shows it", "[probe]") {
  const auto measurements = memory_with({"operation_slow", 1, "triad", 0}, /*samples=*/5);
  const auto best = [&](const char* operation) {
    const auto& samples = find(measurements, {operation, {{"size", "1MiB"}}, ""}).samples;
    return *std::max_element(samples.begin(), samples.end());
  };
  CHECK(best("triad") < best("add") / 3);
}

TEST_CASE("a probe refuses what it cannot run, and says why", "[probe]") {
  const auto cause = [](const CellRequest& request) {
    const TemporaryFolder folder;
    CellResult result;
    try {
      run_probe(request, folder.path(), result);
    } catch (const RunFailure& failure) {
      return failure.cause();
    }
    return std::string("none");
  };
  CHECK(cause(request_of("device_memry")) == "bad_request");
  CellRequest request = request_of("device_smoke");
  request.workload.preset = "big";
  CHECK(cause(request) == "bad_request");
  request = request_of("device_smoke");
  request.inject = Injection{"weight_ulp", 1, "fc1.weight", 0};
  CHECK(cause(request) == "bad_request");
  request = request_of("device_smoke");
  request.device = "sm_90";
  CHECK(cause(request) == "unsupported");
}

}  // namespace
}  // namespace reprobench
