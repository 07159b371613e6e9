#include "matrix/plan/coverage.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/contract/device/device_class.hpp"
#include "matrix/plan/compat_rules.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

constexpr const char* kDeviceClasses[] = {"sm_70", "sm_75",  "sm_80",  "sm_86", "sm_89",
                                          "sm_90", "sm_100", "sm_103", "sm_120"};

std::string component(const StackSpec& stack, const char* name) {
  const auto found = stack.components.find(name);
  return found == stack.components.end() ? "" : found->second;
}

}  // namespace

bool has_machine_code(const std::vector<std::string>& kernels_of, const std::string& capability) {
  const auto wanted = version_numbers(capability);
  return std::any_of(kernels_of.begin(), kernels_of.end(), [&](const std::string& entry) {
    const auto numbers = version_numbers(entry);
    return numbers.size() == 2 && numbers[0] == wanted[0] && numbers[1] <= wanted[1];
  });
}

bool has_ptx(const std::vector<std::string>& kernels_of, const std::string& capability) {
  return std::any_of(kernels_of.begin(), kernels_of.end(), [&](const std::string& entry) {
    return entry.find("+PTX") != std::string::npos && !version_less(capability, entry);
  });
}

DeviceCoverage coverage_on(const std::string& device, const StackSpec& stack, const WheelFacts* wheel,
                           const CompatFacts& facts) {
  DeviceCoverage coverage{device, Coverage::none, Coverage::none, ""};
  const std::string cuda = component(stack, "cuda");
  if (cuda.empty()) return coverage;
  const bool has_nccl = !component(stack, "nccl").empty();
  if (wheel == nullptr || wheel->kernels_of.empty()) {
    coverage.compute = Coverage::unknown;
    if (has_nccl) coverage.collectives = Coverage::unknown;
    return coverage;
  }
  const std::string capability = DeviceClass::parse(device).value().compute_capability();
  if (has_machine_code(wheel->kernels_of, capability)) {
    coverage.compute = Coverage::native;
    if (has_nccl) coverage.collectives = Coverage::native;
  } else if (has_ptx(wheel->kernels_of, capability)) {
    coverage.compute = Coverage::ptx;
    coverage.driver_at_least = facts.driver_of_toolkit(wheel->cuda_toolkit.empty() ? cuda : wheel->cuda_toolkit);
  }
  return coverage;
}

std::vector<DeviceCoverage> coverage_of_stack(const StackSpec& stack, const CompatFacts& facts) {
  const TorchBuild build = torch_build(stack);
  const WheelFacts* wheel = stack.is_of_wheels() ? facts.find_wheel(build.line, build.variant) : nullptr;
  std::vector<DeviceCoverage> all;
  for (const char* device : kDeviceClasses) all.push_back(coverage_on(device, stack, wheel, facts));
  return all;
}

std::string to_string(const DeviceCoverage& coverage) {
  const std::string driver =
      coverage.driver_at_least.empty() ? "" : fmt::format(" (driver {} or newer)", coverage.driver_at_least);
  return fmt::format("compute {}{}, collectives {}", to_string(coverage.compute), driver,
                     to_string(coverage.collectives));
}

}  // namespace reprobench
