#include "matrix/plan/nvml.hpp"

#include <memory>

#include <dlfcn.h>

namespace reprobench {
namespace {

// The few prototypes of nvml.h that are needed; its ABI is stable (functions get a _v2 suffix when they change).
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
constexpr int kNvmlSuccess = 0;

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

template <class Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*device_count)(unsigned*) = nullptr;
  int (*device_by_index)(unsigned, NvmlDevice*) = nullptr;
  int (*device_name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*compute_capability)(NvmlDevice, int*, int*) = nullptr;
  int (*memory_info)(NvmlDevice, NvmlMemory*) = nullptr;

  bool load_from(void* library) {
    return load(library, "nvmlInit_v2", init) && load(library, "nvmlShutdown", shutdown) &&
           load(library, "nvmlSystemGetDriverVersion", driver_version) &&
           load(library, "nvmlDeviceGetCount_v2", device_count) &&
           load(library, "nvmlDeviceGetHandleByIndex_v2", device_by_index) &&
           load(library, "nvmlDeviceGetName", device_name) &&
           load(library, "nvmlDeviceGetCudaComputeCapability", compute_capability) &&
           load(library, "nvmlDeviceGetMemoryInfo", memory_info);
  }
};

GpuFacts facts_of(const Nvml& nvml, NvmlDevice device) {
  GpuFacts gpu;
  char name[96] = {};
  if (nvml.device_name(device, name, sizeof name) == kNvmlSuccess) gpu.name = name;
  int major = 0;
  int minor = 0;
  if (nvml.compute_capability(device, &major, &minor) == kNvmlSuccess) {
    gpu.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  }
  NvmlMemory memory{};
  if (nvml.memory_info(device, &memory) == kNvmlSuccess) gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  return gpu;
}

}  // namespace

NvidiaFacts query_nvml(const char* library_name) {
  NvidiaFacts facts;
  const std::unique_ptr<void, CloseLibrary> library(dlopen(library_name, RTLD_NOW | RTLD_LOCAL));
  Nvml nvml;
  if (!library || !nvml.load_from(library.get()) || nvml.init() != kNvmlSuccess) return facts;
  char driver[96] = {};
  if (nvml.driver_version(driver, sizeof driver) == kNvmlSuccess) facts.driver = driver;
  unsigned count = 0;
  if (nvml.device_count(&count) != kNvmlSuccess) count = 0;
  for (unsigned index = 0; index < count; ++index) {
    NvmlDevice device = nullptr;
    if (nvml.device_by_index(index, &device) == kNvmlSuccess) facts.gpus.push_back(facts_of(nvml, device));
  }
  nvml.shutdown();
  return facts;
}

}  // namespace reprobench
