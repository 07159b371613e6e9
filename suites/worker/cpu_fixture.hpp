// For tests: a device that is the CPU; a test overrides one part of it. Test sources include ATen/core/Tensor.h first,
// since headers here include none of LibTorch's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "suites/worker/device.hpp"

namespace reprobench {

class PlayedCpu : public ComputeDevice {
 public:
  c10::Device where() const override { return cpu_->where(); }
  void synchronize() override { cpu_->synchronize(); }
  std::unique_ptr<StepTimer> start_step() override { return cpu_->start_step(); }
  std::unique_ptr<PendingReadback> read_back(std::span<const at::Tensor> tensors, const at::Tensor& scalar) override {
    return cpu_->read_back(tensors, scalar);
  }
  Digest digest(const at::Tensor& tensor) override { return cpu_->digest(tensor); }
  Sketch sketch(const at::Tensor& tensor) override { return cpu_->sketch(tensor); }
  bool records_steps() const override { return cpu_->records_steps(); }
  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override { return cpu_->record(work); }
  std::size_t steps_in_flight() const override { return cpu_->steps_in_flight(); }
  DeviceMemory memory() const override { return cpu_->memory(); }
  std::int64_t free_bytes() const override { return cpu_->free_bytes(); }
  WatchedWork launched_by(const std::function<void()>& work) override { return cpu_->launched_by(work); }
  DeviceFacts facts() const override { return cpu_->facts(); }

 private:
  std::unique_ptr<ComputeDevice> cpu_ = open_cpu();
};

}  // namespace reprobench
