#include "matrix/host/sysfs_topology.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/host/device_pairs.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// The first line of a file of sysfs; nothing if it cannot be read, as the speed of a port that is down.
std::optional<std::string> line_of(const fs::path& path) {
  constexpr std::int64_t kLargestBytes = 64 << 10;  // the kernel gives a page
  const FileText read = read_regular_file(path, kLargestBytes);
  if (read.text.empty()) return std::nullopt;
  return plain_text(read.text.substr(0, read.text.find('\n')));
}

template <class Number>
std::optional<Number> number_at_start(std::string_view text, std::string_view rest) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view left = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !left.starts_with(rest) || (rest.empty() && !left.empty())) return std::nullopt;
  return number;
}

template <class Number>
std::optional<Number> number_in(const fs::path& path, std::string_view rest = "") {
  const auto line = line_of(path);
  return line ? number_at_start<Number>(*line, rest) : std::nullopt;
}

// A speed that a link can have; no number of a driver that is wrong is multiplied further.
constexpr double kFastest = 1e6;  // of GT/s and Gb/s; NVLink and InfiniBand are at a thousandth of it
std::optional<double> speed_in(const fs::path& path, std::string_view unit) {
  const auto speed = number_in<double>(path, unit);
  return speed && *speed > 0 && *speed <= kFastest ? speed : std::nullopt;
}

std::string name_of(const fs::path& entry) { return plain_text(entry.filename().string()); }

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

void read_numa_nodes(const fs::path& sysfs, Topology& topology) {
  for (const fs::path& folder : entries_of(sysfs / "devices/system/node")) {
    const std::string name = folder.filename().string();
    if (!name.starts_with("node")) continue;
    const auto number = number_at_start<int>(std::string_view(name).substr(4), "");
    if (!number || *number < 0) continue;
    NumaNode node{*number, line_of(folder / "cpulist").value_or(""), {}};
    std::istringstream distances(line_of(folder / "distance").value_or(""));
    for (std::string word; distances >> word;) {
      const auto distance = number_at_start<std::int64_t>(word, "");
      if (!distance || *distance < 0) {
        topology.problems.push_back(fmt::format("the distances of NUMA node {} cannot be read", *number));
        node.distances.clear();
        break;
      }
      node.distances.push_back(*distance);
    }
    topology.numa_nodes.push_back(std::move(node));
  }
  std::ranges::sort(topology.numa_nodes, {}, &NumaNode::node);
  if (topology.numa_nodes.empty()) topology.problems.emplace_back("sysfs tells no NUMA nodes");
}

// "pci0000:3a", then the bridges; without the device itself.
std::vector<std::string> upstream_of(const fs::path& real) {
  std::vector<std::string> path;
  for (const fs::path& part : real.parent_path()) {
    const std::string name = part.string();
    if (name.starts_with("pci") && name.find(':') != std::string::npos) path.clear();
    path.push_back(plain_text(name));
  }
  const bool has_host_bridge = !path.empty() && path.front().starts_with("pci");
  return has_host_bridge ? path : std::vector<std::string>{};
}

std::string kind_of(const fs::path& folder) {
  const std::string pci_class = line_of(folder / "class").value_or("");
  if (pci_class.starts_with("0x02")) return "nic";
  // A server's management controller is a display, too; only NVIDIA's are GPUs a stack can compute on.
  return pci_class.starts_with("0x03") && line_of(folder / "vendor") == "0x10de" ? "gpu" : "";
}

std::optional<std::int64_t> lanes_in(const fs::path& path) {
  const auto lanes = number_in<std::int64_t>(path);
  return lanes && *lanes >= 1 && *lanes <= 32 ? lanes : std::nullopt;  // 0 and 255: no link, unknown
}

void read_link(const fs::path& folder, PciDevice& device) {
  device.link_gt_per_s = speed_in(folder / "current_link_speed", " GT/s");
  device.max_link_gt_per_s = speed_in(folder / "max_link_speed", " GT/s");
  device.link_lanes = lanes_in(folder / "current_link_width");
  device.max_link_lanes = lanes_in(folder / "max_link_width");
  if (!device.max_link_gt_per_s || !device.link_lanes) {
    device.findings.emplace_back("sysfs tells no PCIe link speed and width: a virtual device, or not PCIe");
  } else if (device.max_link_lanes && *device.link_lanes < *device.max_link_lanes) {
    device.findings.push_back(fmt::format("runs on {} of {} lanes", *device.link_lanes, *device.max_link_lanes));
  }
}

void read_devices(const fs::path& sysfs, Topology& topology, LinksByAddress& links) {
  for (const fs::path& entry : entries_of(sysfs / "bus/pci/devices")) {
    PciDevice device;
    device.address = name_of(entry);
    device.kind = kind_of(entry);
    read_link(entry, device);
    links[device.address] = {device.max_link_gt_per_s, device.link_lanes};
    if (device.kind.empty()) continue;
    std::error_code error;
    device.upstream = upstream_of(fs::canonical(entry, error));
    if (device.upstream.empty()) device.findings.emplace_back("sysfs tells no path to a host bridge");
    const auto node = number_in<int>(entry / "numa_node");
    if (node && *node >= 0) device.numa_node = node;
    if (!device.numa_node) device.findings.emplace_back("the firmware tells no NUMA node");
    topology.devices.push_back(std::move(device));
  }
}

// The PCI device a port belongs to: "eth0/device" points to it, or (virtio) to a child of it.
std::string pci_of(const fs::path& port, const Topology& topology) {
  std::error_code error;
  for (const fs::path& part : fs::canonical(port / "device", error)) {
    const std::string name = part.string();
    if (std::ranges::any_of(topology.devices, [&](const PciDevice& device) { return device.address == name; })) {
      return name;
    }
  }
  return "";
}

void read_ports(const fs::path& sysfs, Topology& topology) {
  for (const fs::path& entry : entries_of(sysfs / "class/net")) {
    NetworkPort port{name_of(entry), pci_of(entry, topology), {}, ""};
    const auto megabit = number_in<std::int64_t>(entry / "speed");
    if (megabit && *megabit > 0 && static_cast<double>(*megabit) <= 1e3 * kFastest) {
      port.bytes_per_s = *megabit * 125'000;
    } else {
      port.problem = port.pci.empty() ? "a virtual interface" : "the driver tells no speed, or the port is down";
    }
    topology.ports.push_back(std::move(port));
  }
  for (const fs::path& entry : entries_of(sysfs / "class/infiniband")) {
    for (const fs::path& number : entries_of(entry / "ports")) {
      NetworkPort port{fmt::format("{} port {}", name_of(entry), name_of(number)), pci_of(entry, topology), {}, ""};
      const auto gigabit = speed_in(number / "rate", " Gb/sec");
      const bool is_active = line_of(number / "state").value_or("").ends_with("ACTIVE");
      if (gigabit && is_active) {
        port.bytes_per_s = std::llround(*gigabit * 125e6);
      } else {
        port.problem = is_active ? "its rate cannot be read" : "the port is not active";
      }
      topology.ports.push_back(std::move(port));
    }
  }
}

}  // namespace

Topology read_topology(const fs::path& sysfs, const GpuLinkInventory& links) {
  Topology topology;
  LinksByAddress pcie;
  read_numa_nodes(sysfs, topology);
  read_devices(sysfs, topology, pcie);
  read_ports(sysfs, topology);
  if (!links.problem.empty()) topology.problems.push_back(links.problem);
  topology.pairs = device_pairs(topology, pcie, links);
  return topology;
}

}  // namespace reprobench
