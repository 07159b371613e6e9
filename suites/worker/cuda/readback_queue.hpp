// Digests of tensors on the GPU, and one number, fetched while later work runs. A kernel reads each tensor where it
// lies, and 16 bytes for every 64 KiB come back.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/device/device_kernels.hpp"
#include "suites/worker/device.hpp"

namespace reprobench {

class ReadbackQueue {
 public:
  // Opens driver and run-time compiler of this process's stack. Nothing is compiled yet. Throws DeviceError.
  ReadbackQueue();
  ~ReadbackQueue();
  ReadbackQueue(const ReadbackQueue&) = delete;
  ReadbackQueue& operator=(const ReadbackQueue&) = delete;

  // Queues the readback in LibTorch's current stream. The queue must outlive the returned object. Throws DeviceError.
  std::unique_ptr<PendingReadback> begin(std::span<const at::Tensor> tensors, const at::Tensor& scalar);

  DeviceKernels& kernels() { return kernels_; }

 private:
  struct Slot;
  class Pending;

  DeviceContext context_;
  DeviceKernels kernels_;
  std::vector<std::unique_ptr<Slot>> free_;  // buffers, used again and again
};

}  // namespace reprobench
