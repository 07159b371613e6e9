#include "matrix/plan/nvml.hpp"

#include <memory>

#include <dlfcn.h>

namespace reprobench {
namespace {

constexpr unsigned kTextLength = 96;  // NVML's own buffers are 80 and 96 bytes

struct Closer {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, Closer>;

template <class Function>
bool bind(const Library& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library.get(), name));
  return function != nullptr;
}

bool bind_all(const Library& library, NvmlFunctions& nvml) {
  return bind(library, "nvmlInit_v2", nvml.init) && bind(library, "nvmlShutdown", nvml.shutdown) &&
         bind(library, "nvmlSystemGetDriverVersion", nvml.driver_version) &&
         bind(library, "nvmlDeviceGetCount_v2", nvml.device_count) &&
         bind(library, "nvmlDeviceGetHandleByIndex_v2", nvml.device_by_index) &&
         bind(library, "nvmlDeviceGetName", nvml.device_name) &&
         bind(library, "nvmlDeviceGetCudaComputeCapability", nvml.compute_capability) &&
         bind(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
}

bool read_gpu(const NvmlFunctions& nvml, unsigned index, GpuFacts& gpu) {
  NvmlFunctions::Device device = nullptr;
  char name[kTextLength] = {};
  int major = 0;
  int minor = 0;
  NvmlFunctions::Memory memory{};
  if (nvml.device_by_index(index, &device) != 0 || nvml.device_name(device, name, kTextLength) != 0 ||
      nvml.compute_capability(device, &major, &minor) != 0 || nvml.memory(device, &memory) != 0) {
    return false;
  }
  gpu.name = name;
  gpu.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  return true;
}

}  // namespace

GpuInventory read_gpus(const NvmlFunctions& nvml) {
  GpuInventory inventory;
  if (nvml.init() != 0) return inventory;
  char driver[kTextLength] = {};
  if (nvml.driver_version(driver, kTextLength) == 0) inventory.driver = driver;
  unsigned count = 0;
  if (nvml.device_count(&count) != 0) count = 0;
  for (unsigned index = 0; index < count; ++index) {
    GpuFacts gpu;
    if (read_gpu(nvml, index, gpu)) inventory.gpus.push_back(std::move(gpu));
  }
  nvml.shutdown();
  return inventory;
}

GpuInventory detect_gpus() {
  const Library library(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL));
  NvmlFunctions nvml;
  if (!library || !bind_all(library, nvml)) return {};
  return read_gpus(nvml);
}

}  // namespace reprobench
