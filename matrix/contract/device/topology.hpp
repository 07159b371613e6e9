// How the devices of a machine are connected: NUMA nodes, PCIe links, NVLinks and network ports. For every pair of
// GPUs, and of a GPU and a NIC, it has the way between them. Facts that the machine does not report are null, with the
// reason beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/device/device_peaks.hpp"
#include "matrix/contract/document/description.hpp"

namespace reprobench {

struct NumaNode {
  int node = 0;
  std::string cpus;                     // "0-15,32-47"
  std::vector<std::int64_t> distances;  // to each node, in order; 10 is the distance to itself
};
template <>
struct Description<NumaNode> {
  static constexpr About about = About::part("numa_node");
  static void fields(auto& field, NumaNode& node) {
    field("node", node.node, rule::at_least(0));
    field("cpus", node.cpus);
    field("distances", node.distances, rule::at_least(0));
  }
};

struct PciDevice {
  std::string address;                // "0000:3b:00.0"
  std::string kind;                   // a word of kPciKinds
  std::vector<std::string> upstream;  // host bridge first: "pci0000:3a", then every bridge down to the device
  std::optional<int> numa_node;
  std::optional<double> link_gt_per_s;  // current speed; an idle GPU slows its link down
  std::optional<double> max_link_gt_per_s;
  std::optional<std::int64_t> link_lanes;
  std::optional<std::int64_t> max_link_lanes;
  std::vector<std::string> findings;  // "runs on 8 of 16 lanes"; why a value is unknown
};
inline constexpr std::string_view kPciKinds[] = {"gpu", "nic"};
template <>
struct Description<PciDevice> {
  static constexpr About about = About::part("pci_device");
  static void fields(auto& field, PciDevice& device) {
    field("address", device.address, rule::not_empty);
    field("kind", device.kind, rule::one_of(kPciKinds));
    field("upstream", device.upstream, "The host bridge, then every bridge down to the device.");
    field("numa_node", device.numa_node, rule::at_least(0));
    field("link_gt_per_s", device.link_gt_per_s, "Now; an idle GPU slows its link down.");
    field("max_link_gt_per_s", device.max_link_gt_per_s);
    field("link_lanes", device.link_lanes, rule::at_least(1));
    field("max_link_lanes", device.max_link_lanes, rule::at_least(1));
    field("findings", device.findings, "A link that is narrower than it could be; why a value is unknown.");
  }
};

struct NetworkPort {
  std::string name;  // "eth0", "mlx5_0 port 1"
  std::string pci;   // empty: virtual, or not on PCI
  std::optional<std::int64_t> bytes_per_s;
  std::string problem;  // why the rate is unknown
};
template <>
struct Description<NetworkPort> {
  static constexpr About about = About::part("network_port");
  static void fields(auto& field, NetworkPort& port) {
    field("name", port.name, rule::not_empty);
    field("pci", port.pci, "Empty: virtual, or not on PCI.");
    field("bytes_per_s", port.bytes_per_s, rule::at_least(1));
    field("problem", port.problem);
    field.hold(port.bytes_per_s.has_value() == port.problem.empty(), "has a rate and a reason for none, or neither");
  }
};

struct DevicePair {
  std::string first;  // PCI addresses
  std::string second;
  std::string relation;                     // kRelations; empty: unknown
  std::optional<std::int64_t> nvlinks;      // between the two GPUs, or from each to the switch
  std::string nvlink_problem;               // why their number or speed is unknown, or that there are none
  std::optional<std::int64_t> bytes_per_s;  // the expected peak of the fastest way, one direction
  std::string formula;                      // how that peak was computed, and from which source
  std::string problem;                      // why relation or peak is unknown
};
// The words of nvidia-smi topo -m: one bridge or switch, several, the host bridge, host bridges of one NUMA node,
// across nodes.
inline constexpr std::string_view kRelations[] = {"", "PIX", "PXB", "PHB", "NODE", "SYS"};
template <>
struct Description<DevicePair> {
  static constexpr About about = About::part("device_pair");
  static void fields(auto& field, DevicePair& pair) {
    field("first", pair.first, rule::not_empty);
    field("second", pair.second, rule::not_empty);
    field("relation", pair.relation, rule::one_of(kRelations));
    field("nvlinks", pair.nvlinks, rule::at_least(0));
    field("nvlink_problem", pair.nvlink_problem);
    field("bytes_per_s", pair.bytes_per_s, rule::at_least(1).says("Expected peak, one direction."));
    field("formula", pair.formula);
    field("problem", pair.problem);
    field.hold(pair.bytes_per_s.has_value() == !pair.formula.empty(), "has a peak without its formula, or the reverse");
    field.hold(pair.bytes_per_s.has_value() || !pair.problem.empty(), "has no peak and no reason");
  }
};

// The way that NCCL uses between two ranks, from its own log.
struct UsedTransport {
  int from = 0;
  int to = 0;
  std::string via;        // "P2P/CUMEM", "NET/IB/0"
  std::string transport;  // kTransports; empty: a word this build does not know
  int channels = 0;
};
inline constexpr std::string_view kTransports[] = {"", "peer", "shared_memory", "infiniband", "socket", "nvls"};
template <>
struct Description<UsedTransport> {
  static constexpr About about = About::part("used_transport");
  static void fields(auto& field, UsedTransport& used) {
    field("from", used.from, rule::at_least(0));
    field("to", used.to, rule::at_least(0));
    field("via", used.via, rule::not_empty);
    field("transport", used.transport, rule::one_of(kTransports));
    field("channels", used.channels, rule::at_least(1));
  }
};

struct Topology {
  std::vector<NumaNode> numa_nodes;
  std::vector<PciDevice> devices;
  std::vector<NetworkPort> ports;
  std::vector<DevicePair> pairs;
  std::vector<UsedTransport> transports;
  std::vector<std::string> problems;  // what could not be read at all
};
template <>
struct Description<Topology> {
  static constexpr About about = About::document("topology", "reprobench describe topology --json");
  static void fields(auto& field, Topology& topology) {
    field("numa_nodes", topology.numa_nodes);
    field("devices", topology.devices);
    field("ports", topology.ports);
    field("pairs", topology.pairs);
    field("transports", topology.transports, "Of a log of NCCL that was named; empty without one.");
    field("problems", topology.problems);
  }
};

// "0000:3b:00.0" for NVML's "00000000:3B:00.0": the device's name in the kernel, and so in a topology. Empty if the
// text is no such address.
std::string pci_address(const std::string& nvml_bus_id);

// The pair of two devices, in either order; null if the topology has none.
const DevicePair* pair_between(const Topology& topology, std::string_view a, std::string_view b);

// The pair with the least expected peak among these devices, given by their PCI addresses. Nothing for fewer than two
// devices. Nothing also if the peak of any pair is not known, because that pair may be the slowest.
std::optional<LinkPeak> slowest_link(const Topology& topology, std::span<const std::string> addresses);

}  // namespace reprobench
