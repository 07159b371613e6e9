// A libcuda.so.1 for machines without a GPU: the part of the driver API that cuda_driver.hpp binds. Memory is host
// memory, streams run at once, and a launch runs the emulated kernel of that name.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "kernels/device/fake_cuda/fake_device.hpp"
#include "kernels/device/simt/emulated_kernel.hpp"

#define RB_EXPORT extern "C" [[gnu::visibility("default")]]

namespace reprobench::simt {
namespace {

constexpr int kInvalidValue = 1;
constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidImage = 200;
constexpr int kInvalidContext = 201;
constexpr int kNoBinaryForGpu = 209;
constexpr int kNotFound = 500;
constexpr int kLaunchFailed = 719;

int g_primary_context = 0;  // its address is the context
thread_local void* t_current_context = nullptr;

// Runs `body` unless the script says otherwise.
template <class Body>
int call(const char* function, Body body) {
  FakeDevice& device = FakeDevice::instance();
  const std::lock_guard lock(device.mutex);
  const int scripted = device.scripted_result(function);
  return scripted != 0 ? scripted : body(device);
}

template <class Body>
int call_in_context(const char* function, Body body) {
  return call(function,
              [&](FakeDevice& device) { return t_current_context == nullptr ? kInvalidContext : body(device); });
}

// A copy of nothing may name no memory.
int copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memmove(to, from, bytes);
  return 0;
}

const EmulatedKernel* kernel_named(std::string_view name) {
  for (const EmulatedKernel& kernel : emulated_kernels()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

struct ErrorName {
  int result;
  const char* name;
};
constexpr ErrorName kErrorNames[] = {{1, "CUDA_ERROR_INVALID_VALUE"},
                                     {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                     {100, "CUDA_ERROR_NO_DEVICE"},
                                     {200, "CUDA_ERROR_INVALID_IMAGE"},
                                     {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                     {500, "CUDA_ERROR_NOT_FOUND"},
                                     {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                     {719, "CUDA_ERROR_LAUNCH_FAILED"},
                                     {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}};

int run_kernel(FakeDevice& device, const EmulatedKernel& kernel, unsigned blocks, unsigned threads, void** arguments) {
  try {
    run(blocks, threads, device.order, [&] { kernel.call(arguments); });
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake device: %.*s: %s\n", static_cast<int>(kernel.name.size()), kernel.name.data(),
                 error.what());
    return kLaunchFailed;
  }
}

}  // namespace
}  // namespace reprobench::simt

using reprobench::simt::call;
using reprobench::simt::call_in_context;
using reprobench::simt::EmulatedKernel;
using reprobench::simt::FakeDevice;

// Empty for the words it takes, else what is wrong with them.
RB_EXPORT const char* fake_cuda_script(const char* words) {
  static std::string reason;
  try {
    FakeDevice::instance().script(words);
    reason.clear();
  } catch (const std::exception& error) {
    reason = error.what();
  }
  return reason.c_str();
}

RB_EXPORT int cuInit(unsigned) {
  return call("cuInit", [](FakeDevice& d) { return d.devices == 0 ? reprobench::simt::kNoDevice : 0; });
}

RB_EXPORT int cuDriverGetVersion(int* version) {
  return call("cuDriverGetVersion", [&](FakeDevice& d) { return *version = d.driver_version, 0; });
}

RB_EXPORT int cuGetErrorName(int result, const char** name) {
  *name = nullptr;
  for (const auto& row : reprobench::simt::kErrorNames) {
    if (row.result == result) *name = row.name;
  }
  return *name == nullptr ? reprobench::simt::kInvalidValue : 0;
}

RB_EXPORT int cuGetErrorString(int, const char** text) {
  *text = "of the fake driver";
  return 0;
}

RB_EXPORT int cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", [&](FakeDevice& d) { return *count = d.devices, 0; });
}

RB_EXPORT int cuDeviceGet(int* device, int ordinal) {
  return call("cuDeviceGet", [&](FakeDevice& d) {
    *device = ordinal;
    return ordinal < d.devices ? 0 : reprobench::simt::kInvalidDevice;
  });
}

RB_EXPORT int cuDeviceGetName(char* name, int length, int) {
  return call("cuDeviceGetName", [&](FakeDevice&) {
    std::snprintf(name, static_cast<std::size_t>(length), "Emulated GPU");
    return 0;
  });
}

RB_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  return call("cuDeviceGetAttribute", [&](FakeDevice& d) {
    switch (attribute) {
      case 1:
        *value = 1024;
        return 0;
      case 10:
        *value = 32;
        return 0;
      case 13:
        *value = 1'500'000;
        return 0;
      case 16:
        *value = d.multiprocessors;
        return 0;
      case 36:
        *value = 1'000'000;
        return 0;
      case 37:
        *value = 256;
        return 0;
      case 38:
        *value = 1 << 20;
        return 0;
      case 75:
        *value = d.compute / 10;
        return 0;
      case 76:
        *value = d.compute % 10;
        return 0;
      default:
        return reprobench::simt::kInvalidValue;
    }
  });
}

RB_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  return call("cuDeviceTotalMem_v2", [&](FakeDevice& d) { return *bytes = d.memory_bytes, 0; });
}

RB_EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  return call("cuDevicePrimaryCtxRetain",
              [&](FakeDevice&) { return *context = &reprobench::simt::g_primary_context, 0; });
}

RB_EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  return call("cuDevicePrimaryCtxRelease_v2", [](FakeDevice&) { return 0; });
}

RB_EXPORT int cuCtxGetCurrent(void** context) {
  return call("cuCtxGetCurrent", [&](FakeDevice&) { return *context = reprobench::simt::t_current_context, 0; });
}

RB_EXPORT int cuCtxSetCurrent(void* context) {
  return call("cuCtxSetCurrent", [&](FakeDevice&) { return reprobench::simt::t_current_context = context, 0; });
}

RB_EXPORT int cuCtxSynchronize() {
  return call_in_context("cuCtxSynchronize", [](FakeDevice&) { return 0; });
}

RB_EXPORT int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call_in_context("cuMemGetInfo_v2", [&](FakeDevice& d) {
    *total_bytes = d.memory_bytes;
    *free_bytes = d.memory_bytes - d.used_bytes();
    return 0;
  });
}

// An image is what the fake NVRTC makes, `fake-cubin sm_90 …`, or machine code of a real one, which is an ELF file.
RB_EXPORT int cuModuleLoadData(void** module, const void* image) {
  return call_in_context("cuModuleLoadData", [&](FakeDevice& d) {
    const auto* text = static_cast<const char*>(image);
    const bool elf = std::memcmp(text,
                                 "\x7f"
                                 "ELF",
                                 4) == 0;
    int architecture = 0;
    if (!elf && std::sscanf(text, "fake-cubin sm_%d ", &architecture) != 1) return reprobench::simt::kInvalidImage;
    if (!elf && (architecture / 10 != d.compute / 10 || architecture > d.compute)) {
      return reprobench::simt::kNoBinaryForGpu;
    }
    *module = new std::string(elf ? "" : text);
    return 0;
  });
}

RB_EXPORT int cuModuleUnload(void* module) {
  return call_in_context("cuModuleUnload", [&](FakeDevice&) { return delete static_cast<std::string*>(module), 0; });
}

RB_EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  return call_in_context("cuModuleGetFunction", [&](FakeDevice&) {
    const auto& text = *static_cast<const std::string*>(module);
    const EmulatedKernel* kernel = reprobench::simt::kernel_named(name);
    if (kernel == nullptr || (!text.empty() && text.find(" " + std::string(name) + " ") == std::string::npos)) {
      return reprobench::simt::kNotFound;
    }
    *function = const_cast<EmulatedKernel*>(kernel);
    return 0;
  });
}

RB_EXPORT int cuFuncGetAttribute(int* value, int, void*) {
  return call("cuFuncGetAttribute", [&](FakeDevice&) { return *value = 0, 0; });
}

RB_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) {
  return call_in_context("cuOccupancyMaxActiveBlocksPerMultiprocessor",
                         [&](FakeDevice& d) { return *blocks = d.blocks_per_multiprocessor, 0; });
}

RB_EXPORT int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned, void*, void** arguments, void**) {
  return call_in_context("cuLaunchKernel", [&](FakeDevice& d) {
    const bool fits =
        grid_x != 0 && grid_y == 1 && grid_z == 1 && block_x != 0 && block_x <= 1024 && block_y == 1 && block_z == 1;
    if (!fits) return reprobench::simt::kInvalidValue;
    return reprobench::simt::run_kernel(d, *static_cast<const EmulatedKernel*>(function), grid_x, block_x, arguments);
  });
}

RB_EXPORT int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  return call_in_context("cuMemAlloc_v2", [&](FakeDevice& d) {
    void* memory = nullptr;
    const int result = d.allocate(&memory, bytes, true);
    *address = reinterpret_cast<std::uint64_t>(memory);
    return result;
  });
}

RB_EXPORT int cuMemFree_v2(std::uint64_t address) {
  return call_in_context("cuMemFree_v2", [&](FakeDevice& d) { return d.release(reinterpret_cast<void*>(address)); });
}

RB_EXPORT int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  return call_in_context("cuMemAllocHost_v2", [&](FakeDevice& d) { return d.allocate(memory, bytes, false); });
}

RB_EXPORT int cuMemFreeHost(void* memory) {
  return call_in_context("cuMemFreeHost", [&](FakeDevice& d) { return d.release(memory); });
}

RB_EXPORT int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void*) {
  return call_in_context("cuMemcpyHtoDAsync_v2",
                         [&](FakeDevice&) { return reprobench::simt::copy(reinterpret_cast<void*>(to), from, bytes); });
}

RB_EXPORT int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void*) {
  return call_in_context("cuMemcpyDtoHAsync_v2", [&](FakeDevice&) {
    return reprobench::simt::copy(to, reinterpret_cast<const void*>(from), bytes);
  });
}

RB_EXPORT int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void*) {
  return call_in_context("cuMemcpyDtoDAsync_v2", [&](FakeDevice&) {
    return reprobench::simt::copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  });
}

RB_EXPORT int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void*) {
  return call_in_context("cuMemsetD8Async",
                         [&](FakeDevice&) { return std::memset(reinterpret_cast<void*>(to), value, bytes), 0; });
}

RB_EXPORT int cuStreamCreate(void** stream, unsigned) {
  return call_in_context("cuStreamCreate",
                         [&](FakeDevice& device) { return *stream = &device.streams.emplace_back(), 0; });
}

RB_EXPORT int cuStreamDestroy_v2(void* stream) {
  return call("cuStreamDestroy_v2", [&](FakeDevice& device) {
    device.streams.remove_if([&](const FakeDevice::Stream& each) { return &each == stream; });
    return 0;
  });
}

RB_EXPORT int cuStreamSynchronize(void*) {
  return call_in_context("cuStreamSynchronize", [](FakeDevice&) { return 0; });
}

using Event = FakeDevice::Event;

RB_EXPORT int cuEventCreate(void** event, unsigned) {
  return call_in_context("cuEventCreate",
                         [&](FakeDevice& device) { return *event = &device.events.emplace_back(), 0; });
}

RB_EXPORT int cuEventDestroy_v2(void* event) {
  return call("cuEventDestroy_v2", [&](FakeDevice& device) {
    device.events.remove_if([&](const Event& each) { return &each == event; });
    return 0;
  });
}

RB_EXPORT int cuEventRecord(void* event, void*) {
  return call_in_context("cuEventRecord", [&](FakeDevice&) {
    *static_cast<Event*>(event) = std::chrono::steady_clock::now();
    return 0;
  });
}

RB_EXPORT int cuEventSynchronize(void*) {
  return call_in_context("cuEventSynchronize", [](FakeDevice&) { return 0; });
}

RB_EXPORT int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  return call_in_context("cuEventElapsedTime", [&](FakeDevice&) {
    const std::chrono::duration<float, std::milli> elapsed = *static_cast<Event*>(end) - *static_cast<Event*>(start);
    *milliseconds = elapsed.count();
    return 0;
  });
}
