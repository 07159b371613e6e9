// The NVLinks of this machine's GPUs, as NVML reports them.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "matrix/host/nvml_library.hpp"

namespace reprobench {

inline constexpr const char* kNoDriver = "NVML cannot be opened: no NVIDIA driver";
inline constexpr const char* kNoAnswer = "NVML does not answer";

struct NvLink {
  std::optional<unsigned> version;
  std::string remote_pci;  // as the kernel writes it; empty if the driver does not report it
  bool remote_is_switch = false;
};

struct GpuLinks {
  std::string pci;  // "0000:3b:00.0"
  std::vector<NvLink> active;
  std::string problem;                        // why the links are unknown
  std::optional<std::int64_t> link_mb_per_s;  // of each active link, one direction; 1 MB = 1e6 bytes
};

struct GpuLinkInventory {
  std::string problem;  // why NVML was not asked; empty if it was
  std::vector<GpuLinks> gpus;
  // For two PCI addresses, in each direction: whether the driver lets them reach each other by NVLink. "ok", or why
  // not.
  std::map<std::pair<std::string, std::string>, std::string> nvlink_access;
};

GpuLinkInventory read_gpu_links(const nvml::Functions& functions);

// A library that is missing, or does not answer in time, is a problem and not an exception.
GpuLinkInventory detect_gpu_links(const std::string& library_path = nvml_library_path(),
                                  std::chrono::milliseconds patience = std::chrono::seconds{10});

}  // namespace reprobench
