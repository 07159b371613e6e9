// The errors between this process and a GPU, as one exception with a stable word for records and decisions.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace reprobench {

enum class DeviceErrorCode {
  no_driver,         // libcuda.so.1 cannot be opened, or lacks a function
  driver_too_old,    // for the CUDA that was asked for, or for its compatibility libraries
  no_device,         // the driver sees no GPU, or none with the index asked for
  device_lost,       // the GPU fell off the bus, or has an uncorrectable memory error
  out_of_memory,     // of the device, or of pinned host memory
  no_compiler,       // NVRTC cannot be opened, or lacks a function
  kernel_rejected,   // NVRTC refused the source or an option; the message holds its log
  no_kernel_image,   // no code for this architecture
  illegal_address,   // or any fault inside a kernel: sticky, the process has to be replaced
  launch_failed,     // a launch was refused: shape, resources, time-out
  invalid_argument,  // a call with a wrong value: a defect on this side
  not_permitted,     // the process may not use the device (compute mode, MIG, container)
  unknown,
};

// Lower-case words, as the enumerators are spelled.
std::string_view word(DeviceErrorCode code);

// Whether no further call of this process can succeed on the device.
bool is_sticky(DeviceErrorCode code);

// The code for a CUresult of the driver API (cuda.h, enum cudaError_enum). Sticky ones of any kind map to
// `illegal_address` or `device_lost`.
DeviceErrorCode device_error_code(int cu_result);

class DeviceError : public std::runtime_error {
 public:
  DeviceError(DeviceErrorCode code, const std::string& what, int cu_result = 0)
      : std::runtime_error(std::string(word(code)) + ": " + what), code_(code), cu_result_(cu_result) {}

  DeviceErrorCode code() const { return code_; }
  int cu_result() const { return cu_result_; }  // 0: the error did not come from the driver

 private:
  DeviceErrorCode code_;
  int cu_result_;
};

}  // namespace reprobench
