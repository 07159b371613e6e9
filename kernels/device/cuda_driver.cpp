#include "kernels/device/cuda_driver.hpp"

#include "kernels/device/shared_library.hpp"

namespace reprobench {
namespace {

// The name of the first function that the library lacks; nullptr if it has all.
const char* bind_all(const SharedLibrary& library, CudaDriver& driver) {
  const char* missing = nullptr;
  const auto bind = [&](const char* symbol, auto& function) {
    if (!library.bind(symbol, function) && missing == nullptr) missing = symbol;
  };
  bind("cuInit", driver.init);
  bind("cuDriverGetVersion", driver.driver_version);
  bind("cuGetErrorName", driver.error_name);
  bind("cuGetErrorString", driver.error_text);
  bind("cuDeviceGetCount", driver.device_count);
  bind("cuDeviceGet", driver.device);
  bind("cuDeviceGetName", driver.device_name);
  bind("cuDeviceGetAttribute", driver.device_attribute);
  bind("cuDeviceTotalMem_v2", driver.device_memory_bytes);
  bind("cuDevicePrimaryCtxRetain", driver.primary_context_retain);
  bind("cuDevicePrimaryCtxRelease_v2", driver.primary_context_release);
  bind("cuCtxGetCurrent", driver.context_current);
  bind("cuCtxSetCurrent", driver.context_set_current);
  bind("cuCtxSynchronize", driver.context_synchronize);
  bind("cuMemGetInfo_v2", driver.memory_info);
  bind("cuModuleLoadData", driver.module_load);
  bind("cuModuleUnload", driver.module_unload);
  bind("cuModuleGetFunction", driver.module_function);
  bind("cuFuncGetAttribute", driver.function_attribute);
  bind("cuOccupancyMaxActiveBlocksPerMultiprocessor", driver.resident_blocks);
  bind("cuLaunchKernel", driver.launch);
  bind("cuMemAlloc_v2", driver.allocate);
  bind("cuMemFree_v2", driver.free);
  bind("cuMemAllocHost_v2", driver.allocate_host);
  bind("cuMemFreeHost", driver.free_host);
  bind("cuMemcpyHtoDAsync_v2", driver.copy_to_device);
  bind("cuMemcpyDtoHAsync_v2", driver.copy_to_host);
  bind("cuMemcpyDtoDAsync_v2", driver.copy_on_device);
  bind("cuMemsetD8Async", driver.fill_bytes);
  bind("cuStreamCreate", driver.stream_create);
  bind("cuStreamDestroy_v2", driver.stream_destroy);
  bind("cuStreamSynchronize", driver.stream_synchronize);
  bind("cuEventCreate", driver.event_create);
  bind("cuEventDestroy_v2", driver.event_destroy);
  bind("cuEventRecord", driver.event_record);
  bind("cuEventSynchronize", driver.event_synchronize);
  bind("cuEventElapsedTime", driver.event_elapsed_ms);
  return missing;
}

}  // namespace

void CudaDriver::check(int result, const char* call) const {
  if (result == 0) return;
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(result, &name) != 0 || name == nullptr) name = "an error without a name";
  if (error_text(result, &text) != 0 || text == nullptr) text = "no description";
  throw DeviceError(device_error_code(result),
                    std::string(call) + " returned " + std::to_string(result) + ", " + name + " (" + text + ")",
                    result);
}

CudaDriver open_cuda_driver(const std::string& library) {
  const SharedLibrary opened(library);
  if (!opened.opened()) throw DeviceError(DeviceErrorCode::no_driver, opened.error());
  CudaDriver driver;
  if (const char* missing = bind_all(opened, driver)) {
    throw DeviceError(DeviceErrorCode::no_driver, library + " has no " + missing);
  }
  driver.check(driver.init(0), "cuInit");
  return driver;
}

}  // namespace reprobench
