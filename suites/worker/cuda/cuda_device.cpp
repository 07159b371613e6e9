// A GPU as the train loop sees it: events in LibTorch's current stream, its caching allocator's counters, and digests
// that come back while later steps run.
#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/cuda/cuda_probe.hpp"
#include "suites/worker/cuda/event_pool.hpp"
#include "suites/worker/cuda/launched_kernels.hpp"
#include "suites/worker/cuda/readback_queue.hpp"
#include "suites/worker/cuda/recorded_graph.hpp"
#include "suites/worker/cuda/tensor_contents.hpp"
#include "suites/worker/cuda/unified_memory.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr int kDevice = 0;  // the coordinator shows a process the one GPU it may use

// Enough to keep the queue full while the host reads a step back; little enough that a NaN is seen soon.
constexpr std::size_t kStepsInFlight = 8;

// One moment on both clocks, so that what the device did can be said on the host's. They drift apart by some tens of
// millionths: a few hundredths of a second in the longest attempts, less than the time between two telemetry readings.
struct CommonMoment {
  cudaEvent_t event = nullptr;
  std::chrono::steady_clock::time_point host;
};

class CudaStepTimer final : public StepTimer {
 public:
  CudaStepTimer(EventPool& pool, const CommonMoment& common) : pool_(pool), common_(common) {}
  ~CudaStepTimer() override { give_back(); }

  void mark(StepMark mark) override {
    if (mark == StepMark::begin) give_back();
    passed_.push_back({mark, pool_.take()});
    check_cuda(cudaEventRecord(passed_.back().event, c10::cuda::getCurrentCUDAStream().stream()), "recording an event");
  }

  StepTimes take() override {
    const cudaEvent_t last = passed_.back().event;
    check_cuda(cudaEventSynchronize(last), "waiting for a step");
    const auto seen = std::chrono::steady_clock::now();
    StepTimes times;
    for (std::size_t i = 1; i < passed_.size(); ++i) {
      add_phase(times, passed_[i].mark, elapsed_ns(passed_[i - 1].event, passed_[i].event));
    }
    times.ended = std::min(common_.host + std::chrono::nanoseconds(elapsed_ns(common_.event, last)), seen);
    return times;
  }

 private:
  struct Passed {
    StepMark mark;
    cudaEvent_t event;
  };

  void give_back() {
    for (const Passed& passed : passed_) pool_.give_back(passed.event);
    passed_.clear();
  }

  static std::int64_t elapsed_ns(cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;  // resolution about half a microsecond
    check_cuda(cudaEventElapsedTime(&milliseconds, from, to), "reading an event");
    return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
  }

  EventPool& pool_;
  const CommonMoment& common_;
  std::vector<Passed> passed_;
};

class Cuda final : public ComputeDevice {
 public:
  Cuda(DeviceFacts facts, const DeviceOptions& options) : facts_(std::move(facts)), unified_(options.unified_memory) {
    check_cuda(cudaSetDevice(kDevice), "choosing the device");
    if (unified_) use_unified_memory();
    at::empty({1}, at::TensorOptions(where()));  // starts LibTorch's CUDA part, whose allocator is asked below
    if (unified_) {
      reset_unified_peaks();
    } else {
      c10::cuda::CUDACachingAllocator::resetPeakStats(kDevice);
    }
    // The default stream cannot be captured.
    if (options.records_steps) stream_.emplace(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, kDevice));
  }

  ~Cuda() override {
    if (common_.event != nullptr) events_.give_back(common_.event);
  }

  c10::Device where() const override { return {at::kCUDA, kDevice}; }
  void synchronize() override { check_cuda(cudaDeviceSynchronize(), "waiting for the device"); }
  std::unique_ptr<StepTimer> start_step() override {
    if (common_.event == nullptr) meet_clocks();
    return std::make_unique<CudaStepTimer>(events_, common_);
  }
  std::unique_ptr<PendingReadback> read_back(std::span<const at::Tensor> tensors, const at::Tensor& scalar) override {
    return readbacks_.begin(tensors, scalar);
  }
  Digest digest(const at::Tensor& tensor) override { return contents().digest(tensor); }
  Sketch sketch(const at::Tensor& tensor) override { return contents().sketch(tensor); }
  bool records_steps() const override { return stream_.has_value(); }
  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override { return capture_graph(work); }
  std::size_t steps_in_flight() const override { return kStepsInFlight; }

  DeviceMemory memory() const override {
    if (unified_) return unified_memory();
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(kDevice);
    constexpr std::size_t kAllPools = 0;  // StatType::AGGREGATE
    const auto& allocated = stats.allocated_bytes[kAllPools];
    const auto& reserved = stats.reserved_bytes[kAllPools];
    return {allocated.current, reserved.current, allocated.peak, reserved.peak};
  }

  DeviceKernels* kernels() override { return &readbacks_.kernels(); }
  void* stream() const override { return c10::cuda::getCurrentCUDAStream().stream(); }

  std::int64_t free_bytes() const override {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
    return static_cast<std::int64_t>(free_bytes);
  }

  WatchedWork launched_by(const std::function<void()>& work) override { return {launched_kernels(work), ""}; }

  DeviceFacts facts() const override { return facts_; }

 private:
  // Waits for the device, so only before the first step.
  void meet_clocks() {
    common_.event = events_.take();
    check_cuda(cudaEventRecord(common_.event, c10::cuda::getCurrentCUDAStream().stream()), "recording an event");
    check_cuda(cudaEventSynchronize(common_.event), "waiting for an event");
    common_.host = std::chrono::steady_clock::now();
  }

  // Only traces of every tensor need it.
  TensorContents& contents() {
    if (!contents_) contents_.emplace(readbacks_.kernels());
    return *contents_;
  }

  DeviceFacts facts_;
  bool unified_;
  EventPool events_;
  CommonMoment common_;
  ReadbackQueue readbacks_;
  std::optional<TensorContents> contents_;
  std::optional<c10::cuda::CUDAStreamGuard> stream_;
};

}  // namespace

bool built_with_cuda() { return true; }

std::unique_ptr<ComputeDevice> open_cuda(const std::string& name, const DeviceOptions& options) {
  const DeviceFacts device = first_device();
  const std::string found = device_class(device.compute_capability);
  if (found != name) {
    throw RunFailure("no_device", "this process sees a GPU of class " + found + ", not " + name);
  }
  if (device.compute == Coverage::none) {
    throw RunFailure("no_kernel_image", "this LibTorch has no kernels for " + device.name + " (" + found + ")");
  }
  return std::make_unique<Cuda>(device, options);
}

}  // namespace reprobench
