// One GPU asked now, and the GPUs of this machine.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/device/gpu_facts.hpp"
#include "matrix/contract/device/telemetry.hpp"
#include "matrix/host/gpu_links.hpp"
#include "matrix/host/nvml_library.hpp"

namespace reprobench {

// What the GPU says at this moment; what it does not say, or says beyond any plausible bound, is absent.
Quantities read_quantities(const nvml::Functions& functions, nvml::Device device);

// "00000000:3B:00.0"; empty where the driver does not tell.
std::string pci_bus_id(const nvml::Functions& functions, nvml::Device device);

struct ComputeProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> memory_bytes;  // on the device; absent where the driver does not tell
};

// Nothing if this driver does not list them.
std::optional<std::vector<ComputeProcess>> compute_processes(const nvml::Functions& functions, nvml::Device device);

struct GpuInventory {
  std::string driver;       // empty: no driver, or it does not answer
  std::string driver_cuda;  // "12.8": the newest CUDA this driver knows
  std::vector<GpuFacts> gpus;
  // By GPU: what it is doing now. For a preflight; not part of a plan.
  std::vector<Quantities> now;
  std::vector<std::vector<std::int64_t>> pids;
  std::vector<std::string> absent;  // NVML functions this driver does not have
  GpuLinkInventory links{"NVML was not asked", {}, {}};
};

// A GPU that does not answer a query without which nothing works is left out: nothing could run on it.
GpuInventory read_gpus(const nvml::Functions& functions);

// Empty where the library cannot be opened, or does not answer in time: a wedged driver must not wedge the plan.
GpuInventory detect_gpus(const std::string& library_path = nvml_library_path(),
                         std::chrono::milliseconds patience = std::chrono::seconds{10});

}  // namespace reprobench
