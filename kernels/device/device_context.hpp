// One GPU of this process: its primary context, which LibTorch uses too, and the facts that its kernels need.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/device/cuda_driver.hpp"
#include "kernels/device/nvrtc.hpp"

namespace reprobench {

class DeviceContext {
 public:
  // Retains the primary context of `device`, an index among the visible ones, until destruction. Throws DeviceError.
  explicit DeviceContext(const CudaDriver& driver, int device = 0);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const CudaDriver& driver() const { return driver_; }
  const std::string& name() const { return name_; }
  ComputeCapability compute_capability() const { return capability_; }
  int multiprocessors() const { return multiprocessors_; }
  std::int64_t l2_bytes() const { return l2_bytes_; }

  // Contexts are bound to threads: every call below binds the calling thread first, cheaply where it is bound already.
  void bind() const;
  // Returns false if binding fails, as after a fault. It is for destructors, which then leave their memory to the end
  // of the process.
  bool try_bind() const noexcept;

  int attribute(CuDeviceAttribute attribute) const;
  // Waits for everything on this context; a kernel's fault surfaces here at the latest.
  void synchronize() const;
  void synchronize(CuStream stream) const;

 private:
  CudaDriver driver_;
  int device_ = 0;
  CuContext context_ = nullptr;
  std::string name_;
  ComputeCapability capability_;
  int multiprocessors_ = 0;
  std::int64_t l2_bytes_ = 0;
};

}  // namespace reprobench
