#include "suites/worker/probes/unsupported_operation.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace reprobench {
namespace {

constexpr std::array<std::string_view, 3> kNotImplemented = {
    "not implemented for", "Could not run 'aten::", "is only supported on CUDA devices with compute capability"};

struct TypeFloor {
  std::string_view dtype;
  int major;
  int minor;
};

// CUDA C++ Programming Guide, "Feature Support per Compute Capability": tensor cores' types.
constexpr TypeFloor kTypeFloors[] = {{"tf32", 8, 0}, {"bf16", 8, 0}, {"fp8", 8, 9}};

}  // namespace

bool is_not_implemented(std::string_view what) {
  return std::ranges::any_of(kNotImplemented, [&](auto words) { return what.find(words) != std::string_view::npos; });
}

std::string lacks_type(const DeviceFacts& device, std::string_view dtype) {
  int major = 0;
  int minor = 0;
  if (std::sscanf(device.compute_capability.c_str(), "%d.%d", &major, &minor) != 2) return "";
  const auto floor = std::ranges::find(kTypeFloors, dtype, &TypeFloor::dtype);
  if (floor == std::end(kTypeFloors) || std::pair(major, minor) >= std::pair(floor->major, floor->minor)) return "";
  return "a GPU of compute capability " + device.compute_capability + " has no " + std::string(dtype) + "; " +
         std::to_string(floor->major) + "." + std::to_string(floor->minor) + " and later have";
}

}  // namespace reprobench
