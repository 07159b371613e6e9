// Reads NUMA nodes, PCI devices and network ports from sysfs.
#pragma once

#include <filesystem>

#include "matrix/contract/device/topology.hpp"
#include "matrix/host/gpu_links.hpp"

namespace reprobench {

// Nodes, devices and ports below `sysfs` (a copy of /sys works too), and every pair of GPUs and of a GPU and a NIC.
Topology read_topology(const std::filesystem::path& sysfs, const GpuLinkInventory& links);

}  // namespace reprobench
