// One run of one probe: an operation is done once and its result checked; only a right result is timed. Every sample is
// kept. Each measurement becomes a line of the trace as soon as it is there, which is also the worker's heartbeat; one
// that takes long, or is not complete yet, leaves lines of progress.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/record/trace_writer.hpp"

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace reprobench {

using Labels = std::map<std::string, std::string>;

// Whether a result is what it should be.
struct Correctness {
  bool right = false;
  std::string finding = {};              // what is wrong with it, or what was seen
  std::optional<double> error_rel = {};  // distance to fp64, with its bound
  std::optional<double> bound_rel = {};
  std::string digest = {};  // of a result whose bits are compared with other runs'
};

// Right if all elements are equal; else it has the number and place of those that are not.
Correctness equal_to(const at::Tensor& result, const at::Tensor& expected);

// Right if the relative L2 distance of `result` to `exact` (fp64) is within the bound.
Correctness close_to(const at::Tensor& result, const at::Tensor& exact, double bound_rel);

// The same for a distance that is known already.
Correctness within(double error_rel, double bound_rel);

// An operation that a probe hands over to be checked and timed.
struct Operation {
  std::string name;  // a row of contract/probe.cpp, which gives the unit
  Labels labels = {};
  double amount = 1;  // of one call: bytes moved, floating-point operations, or (unit ns) dependent steps
  std::function<at::Tensor()> work;                            // does it once and returns its result
  std::function<Correctness(const at::Tensor& result)> check;  // of that result
  bool shows_algorithm = false;  // a library chooses how: told in measure_then_watch(), not known elsewhere
  bool is_of_many = false;       // many operations, each done its own way: kernels are shown, no algorithm
  // The time of `calls` calls in ns, if they are not all in the run's own queue; else empty.
  std::function<double(std::int64_t calls)> time = {};
  bool until_seen = false;  // a call is timed until the host has seen it done, by the host's clock
  // The bound for the error against fp64, by algorithm. `check` runs before the algorithm is known and takes the bound
  // of "", the widest. Once the algorithm is known, the error has to keep within that one's bound.
  std::function<double(std::string_view algorithm)> bound_of = {};
};

// Checks the error of a measurement against the bound of `measurement.algorithm`. Beyond that bound the result is
// wrong, and the samples mean nothing.
void hold_to_algorithm(const Operation& operation, ProbeMeasurement& measurement);

class ProbeRun {
 public:
  // All references must outlive the run. `folder` is the rank's; `data_folder` is for probes that read a model's data.
  ProbeRun(const CellRequest& request, std::filesystem::path folder, ComputeDevice& device, TraceWriter& trace,
           CellResult& result, std::filesystem::path data_folder = {});
  ProbeRun(const ProbeRun&) = delete;
  ProbeRun& operator=(const ProbeRun&) = delete;

  const CellRequest& request() const { return request_; }
  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& data_folder() const { return data_folder_; }
  const Settings& settings() const { return settings_; }
  ComputeDevice& compute() const { return device_; }
  c10::Device device() const;
  std::uint64_t seed() const { return settings_.seed; }
  bool on_cpu() const { return request_.device == "cpu"; }

  // Random numbers that are the same on every stack, in fp32 on the device. They have variance 1, or are whole and
  // within +-8; sums and small multiples of whole ones are exact in fp32 in any order. A GPU draws large tensors
  // itself, with the same bits.
  at::Tensor random_normal(const std::string& name, const std::vector<std::int64_t>& shape) const;
  at::Tensor random_whole(const std::string& name, std::int64_t count) const;

  // Checks the operation and, if it is right, takes the samples that were asked for. An operation that LibTorch does
  // not implement becomes a measurement that says so. Throws RunFailure "interrupted" between samples if the worker was
  // asked to stop.
  void measure(const Operation& operation);

  // Runs `operations` twice: first they are measured, then each is done once more while the kernels it launches are
  // watched. All watching comes after all measuring, because a profiler that was attached once slows launches from then
  // on.
  void measure_then_watch(const std::function<void()>& operations);

  // Does `work` once more, watched, and notes how a library did it, or why that is not known. On a GPU, the profiler
  // slows all work that is timed afterwards.
  void tell_algorithm(const std::function<at::Tensor()>& work, ProbeMeasurement& measurement);

  // Whether operations are being watched: then nothing is checked, and references are not needed.
  bool watching() const { return phase_ == Phase::watching; }

  // Adds a value that was seen rather than timed here, as one sample in the operation's unit. `began_ns` (now_ns()) is
  // the beginning of a time that something else measured from then to now.
  void observe(const std::string& operation, const Labels& labels, double value, const Correctness& correctness,
               std::optional<std::int64_t> began_ns = std::nullopt);

  void cannot(const std::string& operation, const Labels& labels, const std::string& why);

  // The time of `calls` calls, one after the other, measured between two points of the device's queue.
  double time_ns(const std::function<at::Tensor()>& work, std::int64_t calls);

  // Times an operation whose result is right: the samples that were asked for.
  void take_samples(const Operation& operation, ProbeMeasurement& measurement);

  // The fault planted in this operation, or null. Its `step` is the sample (from 1) at which it happens.
  const Injection* planted(const std::string& kind, const std::string& operation) const;

  void add(ProbeMeasurement measurement);

  // Notes what NCCL told about its work between the ranks.
  void note(NcclFacts facts) { result_.nccl = std::move(facts); }

  // The peak of the links between the attempt's GPUs in one direction. It is that of the slowest link by the host's
  // topology, else the data sheet's for the NVLinks of the device in use. Nothing where neither is known.
  std::optional<double> link_gb_per_s() const {
    if (request_.link_peak && request_.link_peak->gb_per_s > 0) return request_.link_peak->gb_per_s;
    return peaks_ ? peaks_->nvlink_gb_per_s : std::nullopt;
  }

  // Writes a line that shows that a long measurement is still running, with its samples so far.
  void progress(const ProbeMeasurement& so_far);

  // The time on the trace's clock.
  std::int64_t now_ns() const;

  // A measurement with its operation's unit and the data sheet's peak, where that is known of the device in use.
  ProbeMeasurement blank(const std::string& operation, const Labels& labels) const;

 private:
  enum class Phase { each, timing, watching };

  void watch(const Operation& operation);
  double host_time_ns(const std::function<at::Tensor()>& work, std::int64_t calls);

  const CellRequest& request_;
  std::filesystem::path folder_;
  std::filesystem::path data_folder_;
  Settings settings_;
  ComputeDevice& device_;
  std::optional<DevicePeaks> peaks_;
  TraceWriter& trace_;
  CellResult& result_;
  Phase phase_ = Phase::each;
};

// The data sheet's value for an operation in a unit: of its memory, its links, or its arithmetic for the label `dtype`.
std::optional<double> data_sheet_peak(const DevicePeaks& peaks, const ProbeMeasurement& measurement);

// A rate in the operation's unit from the time of one call.
double in_unit(const std::string& unit, double amount, double time_ns);

}  // namespace reprobench
