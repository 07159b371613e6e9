// Asks this machine what it is. Read-only; no CUDA is started for it.
#pragma once

#include <filesystem>

#include "matrix/contract/device/host_facts.hpp"
#include "matrix/host/gpu_reading.hpp"

namespace reprobench {

// From /proc, /sys, uname, os-release and, where libnvidia-ml.so.1 can be opened, NVML.
HostFacts detect_host();

// `gpus`: what was asked of NVML already. `sysfs`: where /sys is.
HostFacts detect_host(const GpuInventory& gpus, const std::filesystem::path& sysfs = "/sys");

}  // namespace reprobench
