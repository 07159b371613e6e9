#include "matrix/contract/device/xid.hpp"

#include <algorithm>

namespace reprobench {
namespace {

using enum XidClass;

// NVIDIA/k8s-device-plugin internal/rm/health.go, the list of Xids after which a device counts as healthy.
constexpr const char* kPlugin = "NVIDIA k8s-device-plugin, internal/rm/health.go";
// docs.nvidia.com/deploy/xid-errors, and the constants of NVIDIA/open-gpu-kernel-modules nverror.h.
constexpr const char* kCatalog = "NVIDIA Xid catalog and nverror.h";

// clang-format off
constexpr Xid kXids[] = {
    {13,  application, "graphics engine exception", "R450", kPlugin},
    {31,  application, "MMU fault", "R450", kPlugin},
    {43,  application, "GPU stopped processing", "R450", kPlugin},
    {45,  application, "preemptive cleanup after an earlier error", "R450", kPlugin},
    {68,  application, "NVDEC0 exception", "R450", kPlugin},
    {109, application, "context switch timeout", "R510", kPlugin},
    {48,  device, "double-bit ECC error", "R450", kCatalog},
    {62,  device, "internal micro-controller halt", "R450", kCatalog},
    {63,  device, "row remapping or page retirement recorded", "R450", kCatalog},
    {64,  device, "row remapping or page retirement failed", "R450", kCatalog},
    {74,  device, "NVLink error", "R450", kCatalog},
    {79,  device, "GPU has fallen off the bus", "R450", kCatalog},
    {92,  device, "high rate of single-bit ECC errors", "R450", kCatalog},
    {94,  device, "contained ECC error", "R450", kCatalog},
    {95,  device, "uncontained ECC error", "R450", kCatalog},
    {119, device, "GSP remote call timed out", "R510", kCatalog},
    {120, device, "GSP error", "R510", kCatalog},
};
// clang-format on

const Xid* find_xid(int number) {
  const auto found =
      std::find_if(std::begin(kXids), std::end(kXids), [&](const Xid& xid) { return xid.number == number; });
  return found == std::end(kXids) ? nullptr : found;
}

}  // namespace

std::span<const Xid> xids() { return kXids; }

XidClass class_of_xid(int number) {
  const Xid* xid = find_xid(number);
  return xid == nullptr ? device : xid->kind;
}

std::string describe_xid(int number) {
  const Xid* xid = find_xid(number);
  return "Xid " + std::to_string(number) + " (" + (xid == nullptr ? "unlisted" : std::string(xid->name)) + ")";
}

}  // namespace reprobench
