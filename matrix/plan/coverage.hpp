// Which code of a stack runs on a class of GPUs, by the facts about its wheel. Compute and collectives are told apart.
// The driver compiles the PTX of torch's kernels for a newer GPU, but NCCL has machine code alone, so every collective
// there ends with "named symbol not found".
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/device/device_facts.hpp"
#include "matrix/plan/compat_facts.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

struct DeviceCoverage {
  std::string device;                        // "sm_90"
  Coverage compute = Coverage::unknown;      // torch's own kernels
  Coverage collectives = Coverage::unknown;  // NCCL, which is taken to be built for the GPUs its wheel is built for
  std::string driver_at_least;  // of `ptx`: the driver of the toolkit that made it; an older one cannot compile it
};

// Whether a list of compute capabilities such as "8.0" or "12.0+PTX" has code for a GPU of `capability`. That is
// machine code of the same generation, up to its own capability, or PTX that a driver compiles for it.
bool has_machine_code(const std::vector<std::string>& kernels_of, const std::string& capability);
bool has_ptx(const std::vector<std::string>& kernels_of, const std::string& capability);

// `wheel`: the stack's row; null for system stacks and for wheels the facts do not know.
DeviceCoverage coverage_on(const std::string& device, const StackSpec& stack, const WheelFacts* wheel,
                           const CompatFacts& facts);

// The same for every class of GPU from Volta on, in ascending order.
std::vector<DeviceCoverage> coverage_of_stack(const StackSpec& stack, const CompatFacts& facts);

// "compute ptx (driver 570.124.06 or newer), collectives none"
std::string to_string(const DeviceCoverage& coverage);

}  // namespace reprobench
