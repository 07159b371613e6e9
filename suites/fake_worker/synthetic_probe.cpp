#include "suites/fake_worker/synthetic_probe.hpp"

#include <span>

#include "matrix/contract/collective.hpp"
#include "matrix/contract/number.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

constexpr double kRate = 1000;

struct Size {
  const char* label;
  std::int64_t bytes;
};
constexpr Size kArraySize[] = {{"128MiB", 128 << 20}};
constexpr Size kCallSizes[] = {{"8B", 8}, {"4KiB", 4 << 10}, {"1MiB", 1 << 20}};

ProbeMeasurement synthetic(const ProbeOperation& operation, const Size& size, std::int64_t samples,
                           const Behaviour& behaviour) {
  ProbeMeasurement measurement;
  measurement.operation = operation.name;
  measurement.labels = {{"size", size.label}};
  measurement.unit = operation.unit;
  measurement.status = MeasurementStatus::measured;
  const Collective* collective = find_collective(operation.name);
  double value = operation.unit == "bytes" ? 1e9 : kRate;
  if (operation.name == "triad") value /= behaviour.value("slow_triad", 1);
  if (collective != nullptr) {
    value *= behaviour.value("slow_collective", 1);
    measurement.bytes = size.bytes;
    if (collective->adds_up) measurement.digest = std::string(32, behaviour.does("other_order") ? '1' : '0');
  }
  measurement.samples.assign(static_cast<std::size_t>(samples), value);
  measurement.results_compared = operation.name == "repeated_gemm" ? 100 : 0;
  measurement.results_differing = operation.name == "repeated_gemm" && behaviour.does("flipped_bit") ? 1 : 0;
  return measurement;
}

}  // namespace

std::vector<ProbeMeasurement> synthetic_measurements(const CellRequest& request, const Behaviour& behaviour) {
  const ProbeInfo* probe = find_probe(request.workload.probe);
  if (probe == nullptr) throw ContractError("there is no probe `" + request.workload.probe + "`");
  std::vector<ProbeMeasurement> measurements;
  for (const ProbeOperation& operation : probe->operations) {
    for (const Size& size : probe->of_ranks ? std::span<const Size>(kCallSizes) : std::span<const Size>(kArraySize)) {
      measurements.push_back(synthetic(operation, size, request.workload.samples, behaviour));
    }
  }
  if (behaviour.does("wrong_result")) {
    measurements.front().status = MeasurementStatus::wrong;
    measurements.front().finding = "1 of 4 elements are wrong";
    measurements.front().samples.clear();
  }
  return measurements;
}

std::string synthetic_probe_digest(const CellRequest& request) {
  return hex32(crc32c(to_json(request.workload).dump())) + std::string(24, '0');
}

}  // namespace reprobench
