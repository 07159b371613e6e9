#include "kernels/device/device_error.hpp"

#include <algorithm>
#include <iterator>

namespace reprobench {
namespace {

struct CodeWord {
  DeviceErrorCode code;
  std::string_view word;
};

constexpr CodeWord kWords[] = {
    {DeviceErrorCode::no_driver, "no_driver"},
    {DeviceErrorCode::driver_too_old, "driver_too_old"},
    {DeviceErrorCode::no_device, "no_device"},
    {DeviceErrorCode::device_lost, "device_lost"},
    {DeviceErrorCode::out_of_memory, "out_of_memory"},
    {DeviceErrorCode::no_compiler, "no_compiler"},
    {DeviceErrorCode::kernel_rejected, "kernel_rejected"},
    {DeviceErrorCode::no_kernel_image, "no_kernel_image"},
    {DeviceErrorCode::illegal_address, "illegal_address"},
    {DeviceErrorCode::launch_failed, "launch_failed"},
    {DeviceErrorCode::invalid_argument, "invalid_argument"},
    {DeviceErrorCode::not_permitted, "not_permitted"},
    {DeviceErrorCode::unknown, "unknown"},
};

struct ResultCode {
  int cu_result;
  DeviceErrorCode code;
};

// Values of cuda.h 13.0; NVIDIA never reuses one.
constexpr ResultCode kResults[] = {
    {1, DeviceErrorCode::invalid_argument},    // INVALID_VALUE
    {2, DeviceErrorCode::out_of_memory},       // OUT_OF_MEMORY
    {3, DeviceErrorCode::no_driver},           // NOT_INITIALIZED
    {4, DeviceErrorCode::no_driver},           // DEINITIALIZED
    {34, DeviceErrorCode::no_driver},          // STUB_LIBRARY: the toolkit's link stub was loaded
    {35, DeviceErrorCode::driver_too_old},     // cudaErrorInsufficientDriver, as runtimes pass it on
    {46, DeviceErrorCode::not_permitted},      // DEVICE_UNAVAILABLE: exclusive or prohibited compute mode
    {100, DeviceErrorCode::no_device},         // NO_DEVICE
    {101, DeviceErrorCode::no_device},         // INVALID_DEVICE
    {200, DeviceErrorCode::no_kernel_image},   // INVALID_IMAGE
    {201, DeviceErrorCode::invalid_argument},  // INVALID_CONTEXT
    {209, DeviceErrorCode::no_kernel_image},   // NO_BINARY_FOR_GPU
    {214, DeviceErrorCode::device_lost},       // ECC_UNCORRECTABLE
    {218, DeviceErrorCode::kernel_rejected},   // INVALID_PTX
    {222, DeviceErrorCode::driver_too_old},    // UNSUPPORTED_PTX_VERSION
    {226, DeviceErrorCode::device_lost},       // CONTAINED
    {301, DeviceErrorCode::no_kernel_image},   // FILE_NOT_FOUND
    {400, DeviceErrorCode::invalid_argument},  // INVALID_HANDLE
    {500, DeviceErrorCode::no_kernel_image},   // NOT_FOUND: no kernel of that name in the module
    {700, DeviceErrorCode::illegal_address},   // ILLEGAL_ADDRESS
    {701, DeviceErrorCode::launch_failed},     // LAUNCH_OUT_OF_RESOURCES
    {702, DeviceErrorCode::illegal_address},   // LAUNCH_TIMEOUT: the context is gone
    {709, DeviceErrorCode::illegal_address},   // CONTEXT_IS_DESTROYED
    {710, DeviceErrorCode::illegal_address},   // ASSERT
    {714, DeviceErrorCode::illegal_address},   // HARDWARE_STACK_ERROR
    {715, DeviceErrorCode::illegal_address},   // ILLEGAL_INSTRUCTION
    {716, DeviceErrorCode::illegal_address},   // MISALIGNED_ADDRESS
    {717, DeviceErrorCode::illegal_address},   // INVALID_ADDRESS_SPACE
    {718, DeviceErrorCode::illegal_address},   // INVALID_PC
    {719, DeviceErrorCode::illegal_address},   // LAUNCH_FAILED: a fault while a kernel ran
    {720, DeviceErrorCode::launch_failed},     // COOPERATIVE_LAUNCH_TOO_LARGE
    {800, DeviceErrorCode::not_permitted},     // NOT_PERMITTED
    {801, DeviceErrorCode::not_permitted},     // NOT_SUPPORTED
    {802, DeviceErrorCode::no_device},         // SYSTEM_NOT_READY: the fabric manager does not run
    {803, DeviceErrorCode::driver_too_old},    // SYSTEM_DRIVER_MISMATCH
    {804, DeviceErrorCode::driver_too_old},    // COMPAT_NOT_SUPPORTED_ON_DEVICE
    {999, DeviceErrorCode::unknown},           // UNKNOWN
};

}  // namespace

std::string_view word(DeviceErrorCode code) {
  const auto* row =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const CodeWord& r) { return r.code == code; });
  return row == std::end(kWords) ? "unknown" : row->word;
}

bool is_sticky(DeviceErrorCode code) {
  return code == DeviceErrorCode::illegal_address || code == DeviceErrorCode::device_lost;
}

DeviceErrorCode device_error_code(int cu_result) {
  const auto* row = std::find_if(std::begin(kResults), std::end(kResults),
                                 [&](const ResultCode& r) { return r.cu_result == cu_result; });
  return row == std::end(kResults) ? DeviceErrorCode::unknown : row->code;
}

}  // namespace reprobench
