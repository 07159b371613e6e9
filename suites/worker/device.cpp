#include "suites/worker/device.hpp"

#include <chrono>

#include <ATen/core/Tensor.h>

#include "matrix/base/available_memory.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/record/innermost_operators.hpp"
#include "suites/worker/record/library_calls.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

using Clock = std::chrono::steady_clock;

class CpuStepTimer final : public StepTimer {
 public:
  void mark(StepMark mark) override {
    const Clock::time_point now = Clock::now();
    if (mark == StepMark::begin) {
      times_ = {};
    } else {
      add_phase(times_, mark, std::chrono::duration_cast<std::chrono::nanoseconds>(now - times_.ended).count());
    }
    times_.ended = now;
  }

  StepTimes take() override { return times_; }

 private:
  StepTimes times_;
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
  WatchedWork launched_by(const std::function<void()>& work) override {
    WatchedWork seen;
    LibraryCalls libraries = library_calls([&] { seen.kernels = innermost_operators(work); });
    seen.kernels.insert(seen.kernels.end(), libraries.calls.begin(), libraries.calls.end());
    seen.unheard = std::move(libraries.unheard);
    return seen;
  }
  DeviceFacts facts() const override { return {}; }
};

}  // namespace

void add_phase(StepTimes& times, StepMark ended, std::int64_t duration_ns) {
  times.total_ns += duration_ns;
  switch (ended) {
    case StepMark::begin:
      break;
    case StepMark::loaded:
      times.phases.data_ns += duration_ns;
      break;
    case StepMark::forwarded:
      times.phases.forward_ns += duration_ns;
      break;
    case StepMark::differentiated:
      times.phases.backward_ns += duration_ns;
      break;
    case StepMark::reduced:
      times.phases.comm_ns += duration_ns;
      break;
    case StepMark::updated:
      times.phases.optimizer_ns += duration_ns;
      break;
  }
}

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

DeviceOptions device_options_of(const Settings& settings) {
  return {settings.cuda_graph, settings.cuda_allocator == CudaAllocator::unified};
}

std::unique_ptr<ComputeDevice> open_device(const std::string& name, const DeviceOptions& options) {
  return name == "cpu" ? open_cpu() : open_cuda(name, options);
}

}  // namespace reprobench
