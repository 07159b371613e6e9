#include "suites/fake_worker/synthetic_probe.hpp"

#include <algorithm>
#include <span>

#include "matrix/base/number.hpp"
#include "matrix/contract/collective.hpp"
#include "matrix/contract/declared_call.hpp"
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
constexpr Size kCallSizes[] = {{"8B", 8}, {"4KiB", 4 << 10}, {"256KiB", 256 << 10}, {"1MiB", 1 << 20}};

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
  const bool is_repeated = operation.name == "repeated_gemm" || (collective != nullptr && collective->adds_up);
  measurement.results_compared = is_repeated ? 100 : 0;
  measurement.results_differing = operation.name == "repeated_gemm" && behaviour.does("flipped_bit") ? 1 : 0;
  return measurement;
}

// Of two terms: one after the other, or, where bits are moved, the other way of joining. `own_order_broken`: its own
// result is not what it gives; `order_unknown`: none.
CallOrder synthetic_order(const CallOutput& output, bool is_moved, const Behaviour& behaviour) {
  CallOrder order;
  if (behaviour.does("order_unknown")) {
    order.problem = "it is no sum of these terms";
    return order;
  }
  for (const std::int64_t size : output.shape) order.elements = std::max<std::int64_t>(1, order.elements) * size;
  order.elements = std::max<std::int64_t>(1, order.elements);
  order.classes = {{is_moved ? "(0 1f)" : "(0 1)", is_moved ? "1 chain of 2, fused" : "1 chain of 2", SumEnd::as_it_is,
                    2, 0, order.elements, 1000}};
  order.not_replayed = behaviour.does("own_order_broken") ? 1 : 0;
  if (order.not_replayed > 0) order.first_not_replayed = 0;
  order.replayed = order.elements - order.not_replayed;
  order.probes = 1;
  return order;
}

// Each call makes one tensor of its first one's shape; `ok_other_bits` moves every second one by a rounding of its
// stack's own, `bits` every one; `absent_call` lacks the last one.
std::vector<ProbeMeasurement> synthetic_calls(const CellRequest& request, const Behaviour& behaviour) {
  std::vector<ProbeMeasurement> measurements;
  for (const std::string& text : request.workload.calls) {
    const std::size_t number = measurements.size();
    const auto tensors = parse_call(text).tensors();
    const bool is_own = behaviour.does("ok_other_bits") && number % 2 == 1;
    const bool is_moved = is_own || behaviour.does("bits");
    const bool is_poisoned = behaviour.does("poison_shows") && request.poison_allocator;
    const std::string kind =
        (is_own ? request.stack : "") + std::to_string(behaviour.value("bits", 0)) + (is_poisoned ? "poisoned" : "");
    CallOutput output;
    output.name = "output.0";
    output.dtype = "float32";
    output.shape = tensors.empty() ? std::vector<std::int64_t>{1} : tensors.front().shape;
    output.digest = hex32(crc32c(text + kind)) + std::string(24, '0');
    output.error_rel = is_moved ? 6e-8 : 5e-8;
    output.sums.assign(kCallSums, 1);
    output.fp64_sums = output.sums;
    if (is_moved) output.sums[0] += 1e-7;
    output.l2 = 1;
    if (request.workload.preset == kOrdersPreset) output.order = synthetic_order(output, is_moved, behaviour);
    ProbeMeasurement measurement;
    measurement.operation = "operator_call";
    measurement.labels = {{"call", text}};
    measurement.unit = "ns";
    measurement.status = MeasurementStatus::measured;
    measurement.samples.assign(static_cast<std::size_t>(request.workload.samples), kRate * behaviour.value("slow", 1));
    measurement.call = CallRecord{CallEnd::ran, hex32(crc32c(text)) + std::string(24, '0'), true, {output}};
    if (behaviour.does("absent_call") && number + 1 == request.workload.calls.size()) {
      measurement.status = MeasurementStatus::unsupported;
      measurement.samples.clear();
      measurement.finding = "this release has no operator of that name";
      measurement.call = CallRecord{CallEnd::absent, "", true, {}};
    }
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

}  // namespace

std::vector<ProbeMeasurement> synthetic_measurements(const CellRequest& request, const Behaviour& behaviour) {
  const ProbeInfo* probe = find_probe(request.workload.probe);
  if (probe == nullptr) throw ContractError("there is no probe `" + request.workload.probe + "`");
  if (probe->name == kOperatorsProbe) return synthetic_calls(request, behaviour);
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
