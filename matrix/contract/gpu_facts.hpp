// A GPU as a plan sees it: what does not change while a run goes on.
#pragma once

#include <cstdint>
#include <string>

namespace reprobench {

// Empty text and 0 where the driver does not say.
struct GpuFacts {
  std::string name;
  std::string compute_capability;  // "9.0"
  std::int64_t memory_bytes = 0;
  std::string uuid;        // "GPU-5c3f0a9e-…"; names the GPU in CUDA_VISIBLE_DEVICES
  std::string pci_bus_id;  // "00000000:3B:00.0"
  std::int64_t cuda_cores = 0;
  std::int64_t max_sm_clock_mhz = 0;
  std::int64_t max_memory_clock_mhz = 0;
  std::int64_t application_sm_clock_mhz = 0;
  std::int64_t power_limit_mw = 0;
  std::string ecc;           // "on", "off"
  std::string mig;           // "on", "off"; empty also for cards that have no MIG
  std::string persistence;   // "on", "off"
  std::string compute_mode;  // "default", "prohibited", "exclusive_process"
  std::int64_t max_pcie_generation = 0;
  std::int64_t max_pcie_lanes = 0;
  std::int64_t nvlinks_active = 0;
};

// "sm_90": the class a cell asks for.
std::string device_class(const GpuFacts& gpu);

// Why no cell can be given this GPU, whatever its class: "MIG mode is on". Empty: one can.
std::string unusable_because(const GpuFacts& gpu);

}  // namespace reprobench
