// `reprobench describe topology`.
#pragma once

#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/device/topology.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

struct TopologyOptions {
  std::string sysfs = "/sys";
  std::string nccl_log;
  bool json = false;
};

std::string topology_text(const Topology& topology);

// For a merged run: a line for each host with several GPUs on the links between them, and a line if these differ
// between hosts. Empty if no host has several.
std::string links_text(const std::vector<PlanHost>& hosts);

// The exit code. 0: it was read, though parts may be unknown, each with its reason.
ExitCode describe_topology(const TopologyOptions& options, const Context& context);

}  // namespace reprobench
