#include "matrix/cli/text/topology_text.hpp"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/regular_file.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/contract/device/nccl_log.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/host/sysfs_topology.hpp"
#include "matrix/verdict/link_notes.hpp"

namespace reprobench {
namespace {

std::string rate_text(const std::optional<std::int64_t>& bytes_per_s) {
  return bytes_per_s ? fmt::format("{:.2f} GB/s", static_cast<double>(*bytes_per_s) / 1e9) : "unknown";
}

std::string link_text(const PciDevice& device) {
  if (!device.max_link_gt_per_s || !device.link_lanes) return "link unknown";
  return fmt::format("{} GT/s x{}", *device.max_link_gt_per_s, *device.link_lanes);
}

std::string log_in(const std::string& path) {
  constexpr std::int64_t kLargestLogBytes = 64 << 20;
  FileText log = read_regular_file(path, kLargestLogBytes);
  if (!log.problem.empty()) throw UsageError(fmt::format("{} cannot be read: {}", path, log.problem));
  return std::move(log.text);
}

}  // namespace

std::string topology_text(const Topology& topology) {
  std::string text;
  for (const NumaNode& node : topology.numa_nodes) {
    text += fmt::format("numa {}  cpus {}  distances {}\n", node.node, node.cpus, fmt::join(node.distances, " "));
  }
  for (const PciDevice& device : topology.devices) {
    text +=
        fmt::format("{}  {}  {}  numa {}  {}{}{}\n", device.kind, device.address, link_text(device),
                    device.numa_node ? std::to_string(*device.numa_node) : "unknown", fmt::join(device.upstream, " > "),
                    device.findings.empty() ? "" : "; ", fmt::join(device.findings, "; "));
  }
  for (const NetworkPort& port : topology.ports) {
    text += fmt::format("port {}  {}{}{}\n", port.name, rate_text(port.bytes_per_s),
                        port.pci.empty() ? "" : "  " + port.pci, port.problem.empty() ? "" : "  " + port.problem);
  }
  for (const DevicePair& pair : topology.pairs) {
    text += fmt::format("pair {} {}  {}  {}  {}\n", pair.first, pair.second,
                        pair.relation.empty() ? "relation unknown" : pair.relation, rate_text(pair.bytes_per_s),
                        pair.bytes_per_s ? pair.formula : pair.problem);
    if (!pair.nvlink_problem.empty()) text += fmt::format("  NVLink: {}\n", pair.nvlink_problem);
  }
  for (const UsedTransport& used : topology.transports) {
    text += fmt::format("rank {} to {}  {} ({})  {} channels\n", used.from, used.to,
                        used.transport.empty() ? "unknown" : used.transport, used.via, used.channels);
  }
  for (const std::string& problem : topology.problems) text += "unknown  " + problem + "\n";
  return text;
}

std::string links_text(const std::vector<PlanHost>& hosts) {
  TextTable table("<12  <");
  std::set<std::vector<std::string>> kinds;
  for (const PlanHost& host : hosts) {
    const std::vector<std::string> links = links_of(host.facts);
    if (links.empty()) continue;
    kinds.insert(links);
    table.say("links", "{}: {}", host.label, fmt::join(links, "; "));
  }
  if (kinds.size() > 1) table.row("links", "differ: what passes between GPUs is not that of one machine");
  return table.text();
}

ExitCode describe_topology(const TopologyOptions& options, const Context& context) {
  // The driver of this machine knows nothing of the machine a copy of /sys was taken on.
  const bool is_here = options.sysfs == "/sys";
  Topology topology = read_topology(
      options.sysfs, is_here ? detect_gpu_links() : GpuLinkInventory{"a copy of /sys has no NVML", {}, {}});
  if (!options.nccl_log.empty()) {
    topology.transports = transports_in(log_in(options.nccl_log));
    if (topology.transports.empty()) {
      topology.problems.push_back(options.nccl_log + " names no transport; was NCCL_DEBUG=INFO set?");
    }
  }
  if (options.json) {
    context.terminal.out_document(written(topology));
  } else {
    context.terminal.out(topology_text(topology));
  }
  return ExitCode::passed;
}

}  // namespace reprobench
