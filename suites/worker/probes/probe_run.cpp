#include "suites/worker/probes/probe_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

#include "kernels/philox/philox_device.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/probe.hpp"
#include "models/initial_values.hpp"
#include "suites/worker/probes/library_algorithm.hpp"
#include "suites/worker/probes/unsupported_operation.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

// A sample is a block of calls of at least this long, so that the clock costs nothing beside it.
constexpr double kShortestSampleNs = 2e6;
constexpr std::int64_t kMostCallsPerSample = 1'000'000;
constexpr std::int64_t kSlowdownOfPlantedFault = 10;

// One host thread draws some 45 million numbers a second, and a kernel may have to be compiled first.
constexpr std::int64_t kMostDrawnOnHost = 1 << 20;

constexpr std::int64_t kWholeNumbers = 17;  // from -8 to 8

// Why an algorithm is not known where nothing looked.
constexpr const char* kTimedOnly = "it was timed and not watched";
constexpr const char* kOfMany = "it is many operations, each done its own way: the kernels are all that ran";
constexpr const char* kNotYetWatched = "the probe ended before it was watched";

at::Tensor tensor_of(const std::vector<float>& values, const std::vector<std::int64_t>& shape, at::Device device) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat).clone().to(device);
}

// What random_normal() and random_whole() draw, where it is needed: in the queue that all work goes to.
at::Tensor normal_on(ComputeDevice& device, DeviceKernels& kernels, PhiloxStream sequence,
                     const std::vector<std::int64_t>& shape) {
  const at::Tensor values = at::empty(shape, at::TensorOptions(device.where()).dtype(at::kFloat));
  fill_bell(kernels, sequence, /*scale=*/1, /*mean=*/0, DevicePointer<float>::of(values.data_ptr()),
            static_cast<std::uint64_t>(values.numel()), device.stream());
  return values;
}

at::Tensor whole_on(ComputeDevice& device, DeviceKernels& kernels, PhiloxStream sequence, std::int64_t count) {
  const at::Tensor bits = at::empty({count}, at::TensorOptions(device.where()).dtype(at::kInt));
  fill_bits(kernels, sequence, DevicePointer<std::uint32_t>::of(bits.data_ptr()), static_cast<std::uint64_t>(count),
            device.stream());
  constexpr std::int64_t kAsUnsigned = 0xffff'ffff;
  const at::Tensor wide = bits.to(at::kLong);
  return wide.bitwise_and_(kAsUnsigned).remainder_(kWholeNumbers).sub_(kWholeNumbers / 2).to(at::kFloat);
}

// Whatever word the first kernel would give. Layers repeat each other's.
void tell_of_many(ProbeMeasurement& measurement) {
  std::vector<std::string> each_once;
  for (std::string& kernel : measurement.kernels) {
    if (std::ranges::find(each_once, kernel) == each_once.end()) each_once.push_back(std::move(kernel));
  }
  measurement.kernels = std::move(each_once);
  if (measurement.algorithm.empty()) return;
  measurement.algorithm.clear();
  measurement.algorithm_unknown = kOfMany;
}

std::string dtype_of(const Labels& labels) {
  const auto dtype = labels.find("dtype");
  return dtype == labels.end() ? "" : dtype->second;
}

// A fault that only a check of results can find: one element becomes another number altogether.
void spoil(at::Tensor& result, std::int64_t element) {
  at::Tensor flat = result.view({-1});
  flat[element % flat.numel()].add_(1'000'000);  // whole, so that it fits tensors of integers too
}

bool is_between_devices(std::string_view operation) { return operation.starts_with("peer_"); }

// Both ways at once a link carries as much each way.
std::optional<double> peak_of_link(const LinkPeak& peak, std::string_view operation) {
  if (operation == "peer_copy") return peak.gb_per_s;
  if (operation == "peer_exchange") return 2 * peak.gb_per_s;
  return std::nullopt;
}

}  // namespace

double in_unit(const std::string& unit, double amount, double time_ns) {
  if (unit == "GB/s") return amount / time_ns;
  if (unit == "TFLOP/s") return amount / time_ns / 1e3;
  if (unit == "ns") return time_ns / amount;
  throw std::invalid_argument("`" + unit + "` is no unit of something timed");
}

std::optional<double> data_sheet_peak(const DevicePeaks& peaks, const ProbeMeasurement& measurement) {
  if (measurement.unit == "TFLOP/s") {
    const auto dtype = measurement.labels.find("dtype");
    const auto rate =
        dtype == measurement.labels.end() ? peaks.tflop_per_s.end() : peaks.tflop_per_s.find(dtype->second);
    return rate == peaks.tflop_per_s.end() ? std::nullopt : std::optional(rate->second);
  }
  if (measurement.unit != "GB/s") return std::nullopt;
  if (measurement.operation == "host_to_device" || measurement.operation == "device_to_host") {
    return peaks.host_link_gb_per_s;
  }
  if (is_between_devices(measurement.operation)) return std::nullopt;  // these two may have no NVLink
  return peaks.memory_gb_per_s;
}

Correctness equal_to(const at::Tensor& result, const at::Tensor& expected) {
  if (result.sizes() != expected.sizes()) return {false, "the result has another shape"};
  const at::Tensor differs = result.ne(expected.to(result.device()));
  const std::int64_t count = differs.sum().item<std::int64_t>();
  if (count == 0) return {true};
  const std::int64_t first = differs.view({-1}).to(at::kByte).argmax().item<std::int64_t>();
  const auto element = [&](const at::Tensor& tensor) {
    return json_number(tensor.view({-1})[first].item<double>()).dump();
  };
  return {false, std::to_string(count) + " of " + std::to_string(result.numel()) +
                     " elements are wrong, the first at " + std::to_string(first) + ": " + element(result) +
                     " instead of " + element(expected)};
}

Correctness close_to(const at::Tensor& result, const at::Tensor& exact, double bound_rel) {
  const at::Tensor wide = result.to(at::kDouble);
  return within(wide.sub(exact).norm().div(exact.norm()).item<double>(), bound_rel);
}

Correctness within(double error_rel, double bound_rel) {
  Correctness correctness{error_rel <= bound_rel, "", error_rel, bound_rel};  // not so for NaN
  if (!correctness.right) {
    correctness.finding = "off by " + json_number(error_rel).dump() + " from fp64, relative L2; at most " +
                          json_number(bound_rel).dump() + " is rounding";
  }
  return correctness;
}

void hold_to_algorithm(const Operation& operation, ProbeMeasurement& measurement) {
  if (!operation.bound_of || !measurement.error_rel) return;
  const Correctness held = within(*measurement.error_rel, operation.bound_of(measurement.algorithm));
  measurement.error_bound_rel = held.bound_rel;
  if (held.right) return;
  measurement.status = MeasurementStatus::wrong;
  measurement.finding = held.finding;
  measurement.samples.clear();
  measurement.timed_from_ns.reset();
  measurement.timed_to_ns.reset();
}

ProbeRun::ProbeRun(const CellRequest& request, std::filesystem::path folder, ComputeDevice& device, TraceWriter& trace,
                   CellResult& result, std::filesystem::path data_folder)
    : request_(request),
      folder_(std::move(folder)),
      data_folder_(std::move(data_folder)),
      settings_(settings_of(request.knobs)),
      device_(device),
      trace_(trace),
      result_(result) {
  // The plan was made for the host's first GPU of the class; another one has another data sheet.
  if (request.peaks && request.peaks->device_name == device.facts().name) peaks_ = request.peaks;
}

c10::Device ProbeRun::device() const { return device_.where(); }

at::Tensor ProbeRun::random_normal(const std::string& name, const std::vector<std::int64_t>& shape) const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  DeviceKernels* const kernels = device_.kernels();
  if (kernels != nullptr && count > kMostDrawnOnHost) {
    return normal_on(device_, *kernels, {settings_.seed, tensor_id(name), 0}, shape);
  }
  return tensor_of(initial_values(settings_.seed, name, static_cast<std::size_t>(count), 1.0f), shape, device());
}

at::Tensor ProbeRun::random_whole(const std::string& name, std::int64_t count) const {
  const std::uint32_t tensor = tensor_id(name);
  DeviceKernels* const kernels = device_.kernels();
  if (kernels != nullptr && count > kMostDrawnOnHost)
    return whole_on(device_, *kernels, {settings_.seed, tensor, 0}, count);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const PhiloxBlock block = keyed_block(settings_.seed, tensor, 0, i / 4);
    for (std::size_t lane = 0; lane < std::min<std::size_t>(4, values.size() - i); ++lane) {
      values[i + lane] = static_cast<float>(block.word[lane] % kWholeNumbers) - static_cast<float>(kWholeNumbers / 2);
    }
  }
  return tensor_of(values, {count}, device());
}

double ProbeRun::time_ns(const std::function<at::Tensor()>& work, std::int64_t calls) {
  const std::unique_ptr<StepTimer> timer = device_.start_step();
  timer->mark(StepMark::begin);
  for (std::int64_t call = 0; call < calls; ++call) work();
  timer->mark(StepMark::updated);
  return static_cast<double>(timer->take().total_ns);
}

double ProbeRun::host_time_ns(const std::function<at::Tensor()>& work, std::int64_t calls) {
  device_.synchronize();
  const auto began = std::chrono::steady_clock::now();
  for (std::int64_t call = 0; call < calls; ++call) {
    work();
    device_.synchronize();
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
}

ProbeMeasurement ProbeRun::blank(const std::string& operation, const Labels& labels) const {
  const ProbeOperation* row = find_probe_operation(operation);
  if (row == nullptr) throw std::invalid_argument("no probe declares an operation `" + operation + "`");
  ProbeMeasurement measurement;
  measurement.operation = operation;
  measurement.labels = labels;
  measurement.unit = row->unit;
  if (peaks_) measurement.peak = data_sheet_peak(*peaks_, measurement);
  if (measurement.peak) measurement.peak_source = peaks_->gpu;
  if (request_.link_peak && is_between_devices(operation)) {
    measurement.peak = peak_of_link(*request_.link_peak, operation);
    if (measurement.peak) measurement.peak_source = request_.link_peak->formula;
  }
  return measurement;
}

const Injection* ProbeRun::planted(const std::string& kind, const std::string& operation) const {
  const auto& inject = request_.inject;
  const bool acts = inject && inject->kind == kind && (inject->tensor.empty() || inject->tensor == operation);
  return acts ? &*inject : nullptr;
}

void ProbeRun::measure(const Operation& operation) {
  if (watching()) return watch(operation);
  ProbeMeasurement measurement = blank(operation.name, operation.labels);
  if (operation.shows_algorithm) measurement.algorithm_unknown = phase_ == Phase::each ? kTimedOnly : kNotYetWatched;
  if (const std::string why = lacks_type(device_.facts(), dtype_of(operation.labels)); !why.empty()) {
    return cannot(operation.name, operation.labels, why);
  }
  try {
    at::Tensor result = operation.work();
    if (const Injection* fault = planted("result_wrong", operation.name)) spoil(result, fault->element);
    const Correctness correctness = operation.check(result);
    measurement.status = correctness.right ? MeasurementStatus::measured : MeasurementStatus::wrong;
    measurement.finding = correctness.finding;
    measurement.error_rel = correctness.error_rel;
    measurement.error_bound_rel = correctness.bound_rel;
    measurement.digest = correctness.digest;
  } catch (const std::exception& error) {
    const std::string what = first_line(error);
    if (!is_not_implemented(what)) throw;
    return cannot(operation.name, operation.labels, what);
  }
  if (measurement.status == MeasurementStatus::measured) take_samples(operation, measurement);
  add(std::move(measurement));
}

void ProbeRun::watch(const Operation& operation) {
  if (!operation.shows_algorithm) return;
  const auto timed = std::ranges::find_if(result_.measurements, [&](const ProbeMeasurement& one) {
    return one.operation == operation.name && one.labels == operation.labels;
  });
  if (timed == result_.measurements.end() || timed->status == MeasurementStatus::unsupported) return;
  tell_algorithm(operation.work, *timed);
  if (operation.is_of_many) tell_of_many(*timed);
  hold_to_algorithm(operation, *timed);
}

void ProbeRun::tell_algorithm(const std::function<at::Tensor()>& work, ProbeMeasurement& measurement) {
  WatchedWork seen = device_.launched_by([&] { work(); });
  measurement.algorithm = library_algorithm(seen.kernels);
  measurement.algorithm_unknown = measurement.algorithm.empty() ? why_not_told(seen.kernels, seen.unheard) : "";
  measurement.kernels = std::move(seen.kernels);
}

void ProbeRun::measure_then_watch(const std::function<void()>& operations) {
  const auto first = static_cast<std::ptrdiff_t>(result_.measurements.size());
  const auto write_measurements = [&] {
    for (auto one = result_.measurements.begin() + first; one != result_.measurements.end(); ++one) {
      trace_.add(measurement_line(*one));
    }
    trace_.write();
    phase_ = Phase::each;
  };
  try {
    phase_ = Phase::timing;
    operations();
    phase_ = Phase::watching;
    operations();
  } catch (...) {
    write_measurements();
    throw;
  }
  write_measurements();
}

void ProbeRun::take_samples(const Operation& operation, ProbeMeasurement& measurement) {
  const auto time = [&](std::int64_t calls) {
    if (operation.time) return std::max(1.0, operation.time(calls));
    return std::max(1.0, operation.until_seen ? host_time_ns(operation.work, calls) : time_ns(operation.work, calls));
  };
  const double once_ns = time(1);  // the call of the check has warmed everything
  const auto calls =
      std::clamp<std::int64_t>(std::llround(std::ceil(kShortestSampleNs / once_ns)), 1, kMostCallsPerSample);
  const std::int64_t done = planted("operation_slow", operation.name) ? calls * kSlowdownOfPlantedFault : calls;
  measurement.timed_from_ns = now_ns();
  for (std::int64_t sample = 0; sample < request_.workload.samples; ++sample) {
    const double sample_ns = time(done);
    measurement.samples.push_back(in_unit(measurement.unit, operation.amount, sample_ns / static_cast<double>(calls)));
    if (take_stop_request()) throw RunFailure("interrupted", "asked to stop while timing " + operation.name);
  }
  measurement.timed_to_ns = now_ns();
}

std::int64_t ProbeRun::now_ns() const { return trace_.age_ns(std::chrono::steady_clock::now()); }

void ProbeRun::progress(const ProbeMeasurement& so_far) {
  trace_.add(to_json(ProbeProgress{so_far.operation, so_far.labels, so_far.samples}));
  trace_.write();
}

void ProbeRun::observe(const std::string& operation, const Labels& labels, double value, const Correctness& correctness,
                       std::optional<std::int64_t> began_ns) {
  ProbeMeasurement measurement = blank(operation, labels);
  measurement.status = correctness.right ? MeasurementStatus::measured : MeasurementStatus::wrong;
  measurement.finding = correctness.finding;
  if (correctness.right) {
    measurement.samples = {value};
    measurement.timed_from_ns = began_ns;
    if (began_ns) measurement.timed_to_ns = now_ns();
  }
  add(std::move(measurement));
}

void ProbeRun::cannot(const std::string& operation, const Labels& labels, const std::string& why) {
  if (watching()) return;
  ProbeMeasurement measurement = blank(operation, labels);
  measurement.finding = why;
  add(std::move(measurement));
}

void ProbeRun::add(ProbeMeasurement measurement) {
  if (phase_ == Phase::each) {
    trace_.add(measurement_line(measurement));
    trace_.write();
  } else {
    progress(measurement);
  }
  // Of a training its first step was long ago.
  if (result_.start_to_first_step_ns == 0) result_.start_to_first_step_ns = since_process_start_ns();
  result_.measurements.push_back(std::move(measurement));
  if (take_stop_request())
    throw RunFailure("interrupted", "asked to stop after " + result_.measurements.back().operation);
}

}  // namespace reprobench
