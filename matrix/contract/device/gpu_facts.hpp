// A GPU as a plan sees it: facts that do not change while a run goes on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

// Text is empty and numbers are 0 if the driver does not report them.
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
  std::string mig;           // "on", "off"; empty also if the card has no MIG
  std::string persistence;   // "on", "off"
  std::string compute_mode;  // "default", "prohibited", "exclusive_process"
  std::int64_t max_pcie_generation = 0;
  std::int64_t max_pcie_lanes = 0;
  std::int64_t nvlinks_active = 0;
};

inline constexpr std::string_view kGpuSwitches[] = {"", "on", "off"};
inline constexpr std::string_view kGpuComputeModes[] = {"", "default", "exclusive_thread", "prohibited",
                                                        "exclusive_process"};

template <>
struct Description<GpuFacts> {
  static constexpr About about = About::part("gpu_facts", "0, or empty: the driver does not say.");
  static void fields(auto& field, GpuFacts& gpu) {
    field("name", gpu.name);
    field("compute_capability", gpu.compute_capability);
    field("memory_bytes", gpu.memory_bytes, rule::at_least(0));
    field("uuid", gpu.uuid);
    field("pci_bus_id", gpu.pci_bus_id);
    field("cuda_cores", gpu.cuda_cores, rule::at_least(0));
    field("max_sm_clock_mhz", gpu.max_sm_clock_mhz, rule::at_least(0));
    field("max_memory_clock_mhz", gpu.max_memory_clock_mhz, rule::at_least(0));
    field("application_sm_clock_mhz", gpu.application_sm_clock_mhz, rule::at_least(0));
    field("power_limit_mw", gpu.power_limit_mw, rule::at_least(0));
    field("ecc", gpu.ecc, rule::one_of(kGpuSwitches));
    field("mig", gpu.mig, rule::one_of(kGpuSwitches));
    field("persistence", gpu.persistence, rule::one_of(kGpuSwitches));
    field("compute_mode", gpu.compute_mode, rule::one_of(kGpuComputeModes));
    field("max_pcie_generation", gpu.max_pcie_generation, rule::at_least(0));
    field("max_pcie_lanes", gpu.max_pcie_lanes, rule::at_least(0));
    field("nvlinks_active", gpu.nvlinks_active, rule::at_least(0));
  }
};

// Why no cell of any class can use this GPU: "MIG mode is on". Empty if one can.
std::string unusable_because(const GpuFacts& gpu);

}  // namespace reprobench
