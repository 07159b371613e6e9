// The device of a run: where its tensors live, how steps are timed there, and how their results come back.
//
// On a GPU the host only queues work. Marks are therefore events in the queue, and loss and digests of a step are read
// back while the next steps run. Nothing here waits until the result of a pending object is taken. On the CPU all work
// is done when a call returns. A process has one device, which one thread uses.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/digest/digest.hpp"
#include "kernels/sketch/sketch.hpp"
#include "matrix/contract/device/device_facts.hpp"
#include "matrix/contract/knob.hpp"
#include "matrix/contract/trace.hpp"
#include "suites/worker/record/step_line.hpp"

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace reprobench {

class DeviceKernels;

// The counters of the device's allocator; -1 where there is no allocator to ask.
struct DeviceMemory {
  std::int64_t allocated_bytes = -1;
  std::int64_t reserved_bytes = -1;
  std::int64_t peak_allocated_bytes = -1;
  std::int64_t peak_reserved_bytes = -1;
};

struct StepTimes {
  std::int64_t total_ns = 0;
  PhaseTimes phases;
  std::chrono::steady_clock::time_point ended;  // when the device passed the last mark, not when the host heard of it
};

// The part of a step that has just ended. A step of several micro-batches has `forwarded` and `differentiated` once for
// each of them.
enum class StepMark { begin, loaded, forwarded, differentiated, reduced, updated };

class StepTimer {
 public:
  virtual ~StepTimer() = default;
  virtual void mark(StepMark mark) = 0;  // `begin` starts anew
  virtual StepTimes take() = 0;          // from `begin` to the last mark; waits until the device has passed that
};

// Adds the time between two marks to the phase that ends with the second one, `ended`.
void add_phase(StepTimes& times, StepMark ended, std::int64_t duration_ns);

struct Readback {
  std::vector<Digest> digests;  // of the tensors, in their order
  ExactValue scalar;
};

class PendingReadback {
 public:
  virtual ~PendingReadback() = default;
  virtual Readback take() = 0;  // call it once; waits for the device
};

// Work that was recorded once and is launched whole.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  virtual void replay() = 0;
};

// A pending readback that has nothing to wait for.
std::unique_ptr<PendingReadback> finished(Readback readback);

// The kernels that a piece of work ran, in order. On a GPU they have the names that their library gave them. On the CPU
// they are the innermost operators of LibTorch, then the calls of oneDNN and MKL (library_calls.hpp). Empty where
// nothing can watch.
struct WatchedWork {
  std::vector<std::string> kernels;
  std::string unheard;  // why calls of a library may be missing; empty where none is known to be
};

class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;

  virtual c10::Device where() const = 0;
  virtual void synchronize() = 0;
  virtual std::unique_ptr<StepTimer> start_step() = 0;

  // Digests of `tensors` and the value of `scalar` (fp32 or fp64, one element) as they are at this place of the queue:
  // later work may overwrite them.
  virtual std::unique_ptr<PendingReadback> read_back(std::span<const at::Tensor> tensors, const at::Tensor& scalar) = 0;

  // Digest and sketch of one tensor, computed where it lies; both wait for the device.
  virtual Digest digest(const at::Tensor& tensor) = 0;
  virtual Sketch sketch(const at::Tensor& tensor) = 0;

  // Whether steps are to be recorded, by the options that the device was opened with.
  virtual bool records_steps() const = 0;

  // Records what `work` queues, without running it. All its tensors keep their places: a replay reads and writes the
  // same memory. Throws RunFailure "unsupported" on the CPU.
  virtual std::unique_ptr<RecordedWork> record(const std::function<void()>& work) = 0;

  // How many steps may be under way before the host waits for the oldest.
  virtual std::size_t steps_in_flight() const = 0;

  virtual DeviceMemory memory() const = 0;

  // The memory that other allocations may still take where tensors lie: that of the card, or of the host.
  virtual std::int64_t free_bytes() const = 0;

  // This project's own kernels, and the stream (CUstream, as a bare pointer) that the run's work goes to; null on the
  // CPU.
  virtual DeviceKernels* kernels() { return nullptr; }
  virtual void* stream() const { return nullptr; }

  // Runs `work` to its end and returns the kernels that it ran.
  virtual WatchedWork launched_by(const std::function<void()>& work) = 0;

  // The facts of a GPU for the fingerprint; empty on the CPU.
  virtual DeviceFacts facts() const = 0;
};

struct DeviceOptions {
  bool records_steps = false;   // everything runs in a stream that can be captured
  bool unified_memory = false;  // tensors lie in memory that GPU and host share, no more than the card has free
};

// The options that `settings` ask for. Throws RunFailure "unsupported" if both are asked for: a capture allows no
// allocation of managed memory.
DeviceOptions device_options_of(const Settings& settings);

// Opens "cpu", or a class of GPU such as "sm_90", of which this process must see one. Throws RunFailure: "unsupported"
// where this worker was built without CUDA, and the causes of suites/worker/cuda/cuda_failure.hpp.
std::unique_ptr<ComputeDevice> open_device(const std::string& name, const DeviceOptions& options);

// Every GPU this process sees; empty without one. `problem` says why there is none where CUDA was built in.
std::vector<DeviceFacts> visible_devices(std::string& problem);

std::unique_ptr<ComputeDevice> open_cpu();

// The facts of the device for a fingerprint. The CPU has none; a GPU has those that two cards of one model share.
std::optional<DeviceFacts> fingerprint_of(const ComputeDevice& device);

}  // namespace reprobench
