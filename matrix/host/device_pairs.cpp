#include "matrix/host/device_pairs.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace reprobench {
namespace {

// How many bridges two paths share, the host bridge included.
std::size_t shared_bridges(const PciDevice& a, const PciDevice& b) {
  const auto [end, unused] = std::ranges::mismatch(a.upstream, b.upstream);
  return static_cast<std::size_t>(end - a.upstream.begin());
}

void find_relation(const PciDevice& a, const PciDevice& b, const Topology& topology, DevicePair& pair) {
  if (a.upstream.empty() || b.upstream.empty()) {
    pair.problem = "sysfs tells no path to a host bridge";
    return;
  }
  const std::size_t shared = shared_bridges(a, b);
  if (shared >= 2) {
    // Under one switch each side has one bridge of its own, the switch's port.
    pair.relation = std::max(a.upstream.size(), b.upstream.size()) - shared <= 1 ? "PIX" : "PXB";
  } else if (shared == 1) {
    pair.relation = "PHB";
  } else if (topology.numa_nodes.size() == 1) {
    pair.relation = "NODE";
  } else if (a.numa_node && b.numa_node) {
    pair.relation = *a.numa_node == *b.numa_node ? "NODE" : "SYS";
  } else {
    pair.problem = "two host bridges, and the firmware tells no NUMA node of one of the devices";
  }
}

// The slowest link between the two: those of the devices and of every bridge they do not share.
void find_pcie_peak(const PciDevice& a, const PciDevice& b, const LinksByAddress& pcie, DevicePair& pair) {
  const std::size_t shared = shared_bridges(a, b);
  std::vector<std::string> stations;
  for (const PciDevice* device : {&a, &b}) {
    stations.push_back(device->address);
    for (std::size_t i = std::max<std::size_t>(shared, 1); i < device->upstream.size(); ++i) {
      stations.push_back(device->upstream[i]);
    }
  }
  double slowest = 0;
  for (const std::string& station : stations) {
    const auto found = pcie.find(station);
    std::optional<double> rate;
    if (found != pcie.end() && found->second.max_gt_per_s && found->second.lanes) {
      rate = pcie_bytes_per_s(*found->second.max_gt_per_s, *found->second.lanes);
    }
    if (!rate) {
      pair.problem = fmt::format("the PCIe link of {} is unknown", station);
      return;
    }
    if (slowest != 0 && *rate >= slowest) continue;
    slowest = *rate;
    pair.formula =
        fmt::format("PCIe link of {}: {} GT/s x {} lanes x line code / 8, from sysfs; the slowest of the way{}",
                    station, *found->second.max_gt_per_s, *found->second.lanes,
                    pair.relation == "SYS" ? ", the link between the sockets not counted" : "");
  }
  pair.bytes_per_s = std::llround(slowest);
}

const GpuLinks* links_of(const GpuLinkInventory& inventory, const std::string& pci) {
  const auto found = std::ranges::find(inventory.gpus, pci, &GpuLinks::pci);
  return found == inventory.gpus.end() ? nullptr : &*found;
}

std::int64_t links_towards(const GpuLinks& gpu, const std::string& other) {
  return std::ranges::count(gpu.active, other, &NvLink::remote_pci);
}

std::int64_t links_to_switches(const GpuLinks& gpu) {
  return std::ranges::count_if(gpu.active, &NvLink::remote_is_switch);
}

// The driver's report about the NVLinks between two GPUs; a problem if it does not report everything.
void find_nvlinks(const GpuLinkInventory& inventory, DevicePair& pair) {
  const GpuLinks* a = links_of(inventory, pair.first);
  const GpuLinks* b = links_of(inventory, pair.second);
  if (!inventory.problem.empty() || a == nullptr || b == nullptr) {
    pair.nvlink_problem = inventory.problem.empty() ? "NVML does not know one of the GPUs" : inventory.problem;
  } else if (!a->problem.empty() || !b->problem.empty()) {
    pair.nvlink_problem = a->problem.empty() ? b->problem : a->problem;
  } else if (a->active.empty() || b->active.empty()) {
    pair.nvlinks = 0;
    pair.nvlink_problem = "no active NVLink";
  } else {
    const std::int64_t direct = std::min(links_towards(*a, pair.second), links_towards(*b, pair.first));
    const std::int64_t switched = std::min(links_to_switches(*a), links_to_switches(*b));
    const bool all_told = std::ranges::none_of(
        a->active, [](const NvLink& link) { return link.remote_pci.empty() && !link.remote_is_switch; });
    if (direct + switched > 0 || all_told) {
      pair.nvlinks = direct + switched;
    } else {
      pair.nvlink_problem = "NVML does not tell where the NVLinks lead";
    }
    if (pair.nvlinks == 0) pair.nvlink_problem = "no NVLink between the two";
  }
  if (pair.nvlinks.value_or(0) == 0) return;
  for (const auto& [from, to] : {std::pair(pair.first, pair.second), std::pair(pair.second, pair.first)}) {
    const auto access = inventory.nvlink_access.find({from, to});
    if (access == inventory.nvlink_access.end() || access->second != "ok") {
      pair.nvlink_problem = fmt::format("from {} to {}: {}", from, to,
                                        access == inventory.nvlink_access.end() ? "not told" : access->second);
      return;
    }
  }
  if (!a->link_mb_per_s || !b->link_mb_per_s) {
    pair.nvlink_problem = "NVML does not tell the speed of a link";
    return;
  }
  const std::int64_t mb_per_s = std::min(*a->link_mb_per_s, *b->link_mb_per_s);
  pair.bytes_per_s = *pair.nvlinks * mb_per_s * 1'000'000;
  pair.formula = fmt::format("{} NVLinks x {} MB/s, from NVML", *pair.nvlinks, mb_per_s);
}

DevicePair pair_of(const PciDevice& a, const PciDevice& b, const Topology& topology, const LinksByAddress& pcie,
                   const GpuLinkInventory& links) {
  DevicePair pair{a.address, b.address, "", {}, "", {}, "", ""};
  find_relation(a, b, topology, pair);
  if (b.kind == "gpu") find_nvlinks(links, pair);
  if (pair.bytes_per_s) return pair;
  // NVLinks are there and their speed is not known: a PCIe peak would be taken for theirs.
  if (pair.nvlinks.value_or(0) > 0) {
    pair.problem = pair.nvlink_problem;
  } else if (!pair.relation.empty()) {
    find_pcie_peak(a, b, pcie, pair);
    if (!pair.bytes_per_s) pair.formula.clear();
  }
  return pair;
}

}  // namespace

std::optional<double> pcie_bytes_per_s(double gt_per_s, std::int64_t lanes) {
  // PCI Express Base Specification: 8b/10b up to 5 GT/s, 128b/130b up to 32, flits of 242 bytes of 256 at 64.
  double code = 0;
  if (gt_per_s == 2.5 || gt_per_s == 5) code = 0.8;
  if (gt_per_s == 8 || gt_per_s == 16 || gt_per_s == 32) code = 128.0 / 130;
  if (gt_per_s == 64) code = 242.0 / 256;
  if (code == 0 || lanes < 1) return std::nullopt;
  return gt_per_s * 1e9 * static_cast<double>(lanes) * code / 8;
}

std::vector<DevicePair> device_pairs(const Topology& topology, const LinksByAddress& pcie,
                                     const GpuLinkInventory& links) {
  std::vector<DevicePair> pairs;
  for (std::size_t i = 0; i < topology.devices.size(); ++i) {
    if (topology.devices[i].kind != "gpu") continue;
    for (std::size_t j = 0; j < topology.devices.size(); ++j) {
      const PciDevice& other = topology.devices[j];
      const bool is_later_gpu = other.kind == "gpu" && j > i;
      if (is_later_gpu || other.kind == "nic") {
        pairs.push_back(pair_of(topology.devices[i], other, topology, pcie, links));
      }
    }
  }
  return pairs;
}

}  // namespace reprobench
