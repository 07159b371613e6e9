// The way between two devices, and how fast it can be.
#pragma once

#include <map>

#include "matrix/contract/device/topology.hpp"
#include "matrix/host/gpu_links.hpp"

namespace reprobench {

struct PcieLink {
  std::optional<double> max_gt_per_s;
  std::optional<std::int64_t> lanes;  // in use
};
using LinksByAddress = std::map<std::string, PcieLink>;  // of devices and bridges

// Bytes of a PCIe link in a second, one direction, after its line code: GT/s x lanes x code / 8. Nothing for a speed
// that no generation has. Packets take a further share (a payload of 256 bytes has 20 to 30 bytes of header).
std::optional<double> pcie_bytes_per_s(double gt_per_s, std::int64_t lanes);

// The pairs of every two GPUs, and of every GPU and NIC.
std::vector<DevicePair> device_pairs(const Topology& topology, const LinksByAddress& pcie,
                                     const GpuLinkInventory& links);

}  // namespace reprobench
