// Finds the facts of this machine. It only reads, and starts no CUDA.
#pragma once

#include <filesystem>

#include "matrix/contract/device/host_facts.hpp"
#include "matrix/host/gpu_reading.hpp"

namespace reprobench {

// From /proc, /sys, uname, os-release and, if libnvidia-ml.so.1 can be opened, NVML.
HostFacts detect_host();

// `gpus` has NVML's answers from before. `sysfs` is the path of /sys.
HostFacts detect_host(const GpuInventory& gpus, const std::filesystem::path& sysfs = "/sys");

}  // namespace reprobench
