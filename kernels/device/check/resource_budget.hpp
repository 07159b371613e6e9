// How many registers, and how many bytes spilled to memory, each kernel may use on any architecture:
// kernels/budget.csv. A kernel over its budget lost occupancy or bandwidth, and the reason should be known before it is
// merged.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/device/nvrtc.hpp"

namespace reprobench {

struct ResourceBudget {
  int registers = 0;
  int spill_bytes = 0;
};

// Reads lines `kernel,max_registers,max_spill_bytes` after a line of column names; `#` starts a comment line. Throws
// std::invalid_argument with the line's number.
std::map<std::string, ResourceBudget> parse_budget(const std::string& csv);

// The kernels that are over their budget or have none; empty if all is well.
std::vector<std::string> over_budget(const std::vector<KernelResources>& kernels,
                                     const std::map<std::string, ResourceBudget>& budget);

}  // namespace reprobench
