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

// Of a merged run: what connects the GPUs of each host that has several, a line each, and that it differs where it
// does. Empty where no host has any to connect.
std::string links_text(const std::vector<PlanHost>& hosts);

// 0: it was read, though parts may be unknown, each with its reason.
ExitCode describe_topology(const TopologyOptions& options, const Context& context);

}  // namespace reprobench
