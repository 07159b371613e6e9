#include "matrix/contract/probe_measurement.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "ci/catch.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

ProbeMeasurement triad() {
  ProbeMeasurement measurement;
  measurement.operation = "triad";
  measurement.labels = {{"dtype", "fp32"}, {"size", "64MiB"}};
  measurement.unit = "GB/s";
  measurement.status = MeasurementStatus::measured;
  measurement.samples = {1.5, 0.1, std::numeric_limits<double>::infinity()};
  measurement.error_rel = 1e-7;
  measurement.peak = 3350;
  measurement.peak_source = "H100 SXM";
  measurement.algorithm = "winograd";
  measurement.kernels = {"winograd3x3Kernel", "void fill<float, 4>(float*)"};
  return measurement;
}

TEST_CASE("a measurement comes back from JSON as it was, samples and infinities included", "[contract]") {
  CHECK(probe_measurement_from_json(nlohmann::json::parse(to_json(triad()).dump())) == triad());
}

TEST_CASE("an algorithm is known, or why it is not is said, or neither", "[contract]") {
  ProbeMeasurement measurement = triad();
  CHECK_FALSE(to_json(measurement).contains("algorithm_unknown"));
  measurement.algorithm_unknown = "no name of what ran tells it";
  CHECK_THROWS_WITH(probe_measurement_from_json(to_json(measurement)),
                    "measurement: the document has an `algorithm` and an `algorithm_unknown`");
  measurement.algorithm.clear();
  CHECK(probe_measurement_from_json(to_json(measurement)) == measurement);
  measurement.algorithm_unknown.clear();  // as before it was noted
  CHECK(probe_measurement_from_json(to_json(measurement)) == measurement);
}

TEST_CASE("the link between ranks is written where it is known, and is more than nothing", "[contract]") {
  ProbeMeasurement measurement = triad();
  CHECK_FALSE(to_json(measurement).contains("link_gb_per_s"));
  measurement.link_gb_per_s = 450;
  CHECK(probe_measurement_from_json(to_json(measurement)) == measurement);
  measurement.link_gb_per_s = 0;
  CHECK_THROWS_WITH(probe_measurement_from_json(to_json(measurement)),
                    "measurement: the document has a `link_gb_per_s` of zero or less");
}

TEST_CASE("a call without its text is refused", "[contract]") {
  ProbeMeasurement measurement = triad();
  measurement.call = CallRecord{CallEnd::absent, "", true, {}};
  CHECK_THROWS_WITH(probe_measurement_from_json(to_json(measurement)),
                    "measurement: the document has a `call` without its text as a label");
  measurement.labels["call"] = "relu(f32[2])";
  CHECK(probe_measurement_from_json(to_json(measurement)) == measurement);
}

TEST_CASE("a measurement whose status and samples contradict each other is refused", "[contract]") {
  nlohmann::json document = to_json(triad());
  document["status"] = "wrong";
  CHECK_THROWS_WITH(probe_measurement_from_json(document),
                    "measurement: the document has samples of a result that was not right");
  document["samples"] = nlohmann::json::array();
  CHECK(probe_measurement_from_json(document).status == MeasurementStatus::wrong);
  document["status"] = "measured";
  CHECK_THROWS_WITH(probe_measurement_from_json(document),
                    "measurement: the document has no samples, though its status is `measured`");
  document["status"] = "fine";
  CHECK_THROWS_AS(probe_measurement_from_json(document), ContractError);
  document["status"] = "measured";
  document["samples"] = {1.5, 0.0};
  CHECK_THROWS_WITH(probe_measurement_from_json(document),
                    "measurement: the document has a time, rate or size of zero or less among its samples");
  document["unit"] = "count";  // of devices, of elements drawn alike
  CHECK(probe_measurement_from_json(document).samples.back() == 0);
}

TEST_CASE("a selection takes the operation it names with the labels it names", "[contract]") {
  CHECK(MeasurementSelection{}.selects(triad()));
  CHECK(MeasurementSelection{"triad", {}, "copy"}.selects(triad()));
  CHECK(MeasurementSelection{"", {{"size", "64MiB"}}, ""}.selects(triad()));
  CHECK_FALSE(MeasurementSelection{"copy", {}, ""}.selects(triad()));
  CHECK_FALSE(MeasurementSelection{"triad", {{"size", "1GiB"}}, ""}.selects(triad()));
  CHECK_FALSE(MeasurementSelection{"triad", {{"memory", "pinned"}}, ""}.selects(triad()));
  CHECK(MeasurementSelection{"gemm", {{"dtype", "bf16"}}, "peak"}.text() == "gemm dtype=bf16 to peak");
}

TEST_CASE("an operation that several probes declare has one unit, and every name is there once a probe", "[contract]") {
  for (const ProbeInfo& probe : probes()) {
    std::set<std::string_view> names;
    for (const ProbeOperation& operation : probe.operations) {
      CHECK(names.insert(operation.name).second);
      CHECK(find_probe_operation(operation.name)->unit == operation.unit);
    }
    CHECK_FALSE(probe.presets.empty());
  }
  CHECK(find_probe("device_memry") == nullptr);
}

TEST_CASE("the request of a training knows no probe, and that of a probe no model", "[contract]") {
  CellRequest request;
  request.cell_id = "3f9c1e0a7b52";
  request.nonce = "0123456789abcdef";
  request.workload = {"mlp", "base", 20, 32};
  CHECK(canonical_request(request)["workload"].dump() ==
        R"({"batch_size":32,"model":"mlp","preset":"base","steps":20})");
  request.workload = {"", "base", 0, 0, "device_memory", 10};
  request.peaks = DevicePeaks{"H100 SXM", "NVIDIA H100 80GB HBM3", 3350, {{"bf16", 989}}, 450, std::nullopt};
  CHECK(canonical_request(request)["workload"].dump() == R"({"preset":"base","probe":"device_memory","samples":10})");
  CHECK_FALSE(canonical_request(request).contains("peaks"));
  const CellRequest read = request_from_json(to_json(request));
  CHECK(read.workload.name() == "device_memory");
  CHECK(read.workload.repetitions() == 10);
  REQUIRE(read.peaks);
  CHECK(to_json(read) == to_json(request));
  nlohmann::json odd = to_json(request);
  odd["peaks"]["memory_gb_per_s"] = "nan";
  CHECK_THROWS_WITH(request_from_json(odd), "request: `peaks/memory_gb_per_s` is not finite");
}

}  // namespace
}  // namespace reprobench
