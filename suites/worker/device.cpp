#include "suites/worker/device.hpp"

#include <array>
#include <chrono>

#include <ATen/core/Tensor.h>

#include "matrix/contract/available_memory.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/innermost_operators.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/tensor_record.hpp"

namespace reprobench {
namespace {

using Clock = std::chrono::steady_clock;

class CpuStepTimer final : public StepTimer {
 public:
  void mark(StepMark mark) override { marks_[static_cast<std::size_t>(mark)] = Clock::now(); }

  StepTimes take() override {
    return {between(0, 4), {between(0, 1), between(1, 2), between(2, 3), between(3, 4)}, marks_.back()};
  }

 private:
  std::int64_t between(std::size_t from, std::size_t to) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(marks_[to] - marks_[from]).count();
  }

  std::array<Clock::time_point, kStepMarks> marks_;
};

class FinishedReadback final : public PendingReadback {
 public:
  explicit FinishedReadback(Readback readback) : readback_(std::move(readback)) {}
  Readback take() override { return std::move(readback_); }

 private:
  Readback readback_;
};

class Cpu final : public ComputeDevice {
 public:
  c10::Device where() const override { return at::kCPU; }
  void synchronize() override {}
  std::unique_ptr<StepTimer> start_step() override { return std::make_unique<CpuStepTimer>(); }

  std::unique_ptr<PendingReadback> read_back(std::span<const at::Tensor> tensors, const at::Tensor& scalar) override {
    Readback readback;
    readback.digests.reserve(tensors.size());
    for (const at::Tensor& tensor : tensors) readback.digests.push_back(digest_of(tensor));
    readback.scalar = exact_value(scalar);
    return finished(std::move(readback));
  }

  Digest digest(const at::Tensor& tensor) override { return digest_of(tensor); }
  Sketch sketch(const at::Tensor& tensor) override { return sketch_of(tensor); }

  bool records_steps() const override { return false; }
  std::unique_ptr<RecordedWork> record(const std::function<void()>&) override {
    throw RunFailure("unsupported", "the CPU records no work");
  }

  std::size_t steps_in_flight() const override { return 1; }
  DeviceMemory memory() const override { return {}; }
  std::int64_t free_bytes() const override { return available_memory_bytes(); }
  std::vector<std::string> launched_by(const std::function<void()>& work) override { return innermost_operators(work); }
  DeviceFacts facts() const override { return {}; }
};

}  // namespace

std::unique_ptr<PendingReadback> finished(Readback readback) {
  return std::make_unique<FinishedReadback>(std::move(readback));
}

std::optional<DeviceFacts> fingerprint_of(const ComputeDevice& device) {
  DeviceFacts facts = device.facts();
  if (facts.name.empty()) return std::nullopt;
  facts.uuid.clear();
  facts.pci_bus_id.clear();
  return facts;
}

std::unique_ptr<ComputeDevice> open_cpu() { return std::make_unique<Cpu>(); }

DeviceOptions device_options_of(const KnobValues& resolved) {
  const DeviceOptions options{resolved.at("cuda_graph") == "on", resolved.at("cuda_allocator") == "unified"};
  if (options.records_steps && options.unified_memory) {
    throw RunFailure("unsupported",
                     "cuda_graph=on needs memory that can be taken during a capture, which "
                     "cuda_allocator=unified cannot give");
  }
  return options;
}

std::unique_ptr<ComputeDevice> open_device(const std::string& name, const DeviceOptions& options) {
  return name == "cpu" ? open_cpu() : open_cuda(name, options);
}

}  // namespace reprobench
