#include "kernels/device/device_context.hpp"

namespace reprobench {

DeviceContext::DeviceContext(const CudaDriver& driver, int device) : driver_(driver) {
  int count = 0;
  driver_.check(driver_.device_count(&count), "cuDeviceGetCount");
  if (device < 0 || device >= count) {
    throw DeviceError(DeviceErrorCode::no_device,
                      "device " + std::to_string(device) + " of " + std::to_string(count) + " visible");
  }
  driver_.check(driver_.device(&device_, device), "cuDeviceGet");
  char name[256] = {};
  driver_.check(driver_.device_name(name, sizeof name - 1, device_), "cuDeviceGetName");
  name_ = name;
  capability_ = {attribute(CuDeviceAttribute::compute_capability_major),
                 attribute(CuDeviceAttribute::compute_capability_minor)};
  multiprocessors_ = attribute(CuDeviceAttribute::multiprocessors);
  l2_bytes_ = attribute(CuDeviceAttribute::l2_bytes);
  driver_.check(driver_.primary_context_retain(&context_, device_), "cuDevicePrimaryCtxRetain");
}

DeviceContext::~DeviceContext() { driver_.primary_context_release(device_); }

void DeviceContext::bind() const {
  CuContext current = nullptr;
  driver_.check(driver_.context_current(&current), "cuCtxGetCurrent");
  if (current != context_) driver_.check(driver_.context_set_current(context_), "cuCtxSetCurrent");
}

bool DeviceContext::try_bind() const noexcept {
  CuContext current = nullptr;
  if (driver_.context_current(&current) != 0) return false;
  return current == context_ || driver_.context_set_current(context_) == 0;
}

int DeviceContext::attribute(CuDeviceAttribute attribute) const {
  int value = 0;
  driver_.check(driver_.device_attribute(&value, attribute, device_), "cuDeviceGetAttribute");
  return value;
}

void DeviceContext::synchronize() const {
  bind();
  driver_.check(driver_.context_synchronize(), "cuCtxSynchronize");
}

void DeviceContext::synchronize(CuStream stream) const {
  bind();
  driver_.check(driver_.stream_synchronize(stream), "cuStreamSynchronize");
}

}  // namespace reprobench
