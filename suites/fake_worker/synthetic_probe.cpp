#include "suites/fake_worker/synthetic_probe.hpp"

#include "matrix/contract/number.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

constexpr double kRate = 1000;

}  // namespace

std::vector<ProbeMeasurement> synthetic_measurements(const CellRequest& request, const Behaviour& behaviour) {
  const ProbeInfo* probe = find_probe(request.workload.probe);
  if (probe == nullptr) throw ContractError("there is no probe `" + request.workload.probe + "`");
  std::vector<ProbeMeasurement> measurements;
  for (const ProbeOperation& operation : probe->operations) {
    ProbeMeasurement measurement;
    measurement.operation = operation.name;
    measurement.labels = {{"size", "128MiB"}};
    measurement.unit = operation.unit;
    measurement.status = MeasurementStatus::measured;
    const double slowness = operation.name == "triad" ? behaviour.value("slow_triad", 1) : 1;
    for (std::int64_t sample = 0; sample < request.workload.samples; ++sample) {
      measurement.samples.push_back(operation.unit == "bytes" ? 1e9 : kRate / slowness);
    }
    measurement.results_compared = operation.name == "repeated_gemm" ? 100 : 0;
    measurement.results_differing = operation.name == "repeated_gemm" && behaviour.does("flipped_bit") ? 1 : 0;
    if (behaviour.does("wrong_result") && measurements.empty()) {
      measurement.status = MeasurementStatus::wrong;
      measurement.finding = "1 of 4 elements are wrong";
      measurement.samples.clear();
    }
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

std::string synthetic_probe_digest(const CellRequest& request) {
  return hex32(crc32c(to_json(request.workload).dump())) + std::string(24, '0');
}

}  // namespace reprobench
