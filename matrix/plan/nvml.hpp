// GPUs and driver as NVIDIA's management library tells them. It comes with the driver, so it is opened at run time, and
// its few prototypes are declared here instead of taken from a toolkit this binary must not need. Only queries.
#pragma once

#include <string>
#include <vector>

#include "matrix/plan/host_facts.hpp"

namespace reprobench {

// The C interface of libnvidia-ml.so.1, as documented in NVIDIA's NVML API reference. All return 0 on success.
struct NvmlFunctions {
  using Device = void*;
  struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
  };
  int (*init)() = nullptr;                                                     // nvmlInit_v2
  int (*shutdown)() = nullptr;                                                 // nvmlShutdown
  int (*driver_version)(char* text, unsigned length) = nullptr;                // nvmlSystemGetDriverVersion
  int (*device_count)(unsigned* count) = nullptr;                              // nvmlDeviceGetCount_v2
  int (*device_by_index)(unsigned index, Device* device) = nullptr;            // nvmlDeviceGetHandleByIndex_v2
  int (*device_name)(Device device, char* text, unsigned length) = nullptr;    // nvmlDeviceGetName
  int (*compute_capability)(Device device, int* major, int* minor) = nullptr;  // nvmlDeviceGetCudaComputeCapability
  int (*memory)(Device device, Memory* memory) = nullptr;                      // nvmlDeviceGetMemoryInfo
};

struct GpuInventory {
  std::string driver;  // empty: no driver, or it does not answer
  std::vector<GpuFacts> gpus;
};

// A GPU that does not answer a query is left out: nothing could run on it.
GpuInventory read_gpus(const NvmlFunctions& nvml);

// From libnvidia-ml.so.1; empty where it cannot be opened.
GpuInventory detect_gpus();

}  // namespace reprobench
