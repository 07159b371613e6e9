#include "suites/worker/probes/unsupported_operation.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <c10/util/Exception.h>

namespace reprobench {
namespace {

// The last is oneDNN's. LibTorch asks the CPU what it can do, and oneDNN may have been kept from that: products of
// 8-bit numbers on a CPU with AMX under `onednn_isa: avx2`.
constexpr std::array<std::string_view, 4> kNotImplemented = {
    "not implemented for", "Could not run 'aten::", "is only supported on CUDA devices with compute capability",
    "could not create a primitive descriptor for the "};

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

std::string first_line(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = of_torch == nullptr ? error.what() : of_torch->what_without_backtrace();
  return text.substr(0, text.find('\n'));
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
