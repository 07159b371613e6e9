// `reprobench describe topology`.
#pragma once

#include "matrix/cli/verb.hpp"
#include "matrix/contract/topology.hpp"

namespace reprobench {

struct TopologyOptions {
  std::string sysfs = "/sys";
  std::string nccl_log;
  bool json = false;
};

std::string topology_text(const Topology& topology);

// 0: it was read, though parts may be unknown, each with its reason.
ExitCode describe_topology(const TopologyOptions& options, const Context& context);

}  // namespace reprobench
