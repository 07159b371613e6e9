// Present readings of one GPU, and the GPUs of this machine.
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

// The GPU's present values. A value that it does not report, or that is beyond any plausible bound, is absent.
Quantities read_quantities(const nvml::Functions& functions, nvml::Device device);

// "00000000:3B:00.0"; empty if the driver does not report it.
std::string pci_bus_id(const nvml::Functions& functions, nvml::Device device);

struct ComputeProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> memory_bytes;  // on the device; absent if the driver does not report it
};

// Nothing if this driver does not list processes.
std::optional<std::vector<ComputeProcess>> compute_processes(const nvml::Functions& functions, nvml::Device device);

struct GpuInventory {
  std::string driver;       // empty: no driver, or it does not answer
  std::string driver_cuda;  // "12.8": the newest CUDA that this driver supports
  std::vector<GpuFacts> gpus;
  // Present values by GPU. They are for a preflight, and not part of a plan.
  std::vector<Quantities> now;
  std::vector<std::vector<std::int64_t>> pids;
  std::vector<std::string> absent;  // NVML functions this driver does not have
  GpuLinkInventory links{"NVML was not asked", {}, {}};
};

// A GPU is left out if it does not answer an essential query, because nothing could run on it.
GpuInventory read_gpus(const nvml::Functions& functions);

// Empty if the library cannot be opened, or does not answer in time: a stuck driver must not block the plan.
GpuInventory detect_gpus(const std::string& library_path = nvml_library_path(),
                         std::chrono::milliseconds patience = std::chrono::seconds{10});

}  // namespace reprobench
