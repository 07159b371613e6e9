#include "matrix/contract/device_facts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "matrix/contract/json_field.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kDeviceDocument = "device";
constexpr std::array<std::string_view, 4> kCoverages = {"native", "ptx", "none", "unknown"};

Coverage coverage_from(const std::string& word) {
  for (std::size_t i = 0; i < kCoverages.size(); ++i) {
    if (kCoverages[i] == word) return static_cast<Coverage>(i);
  }
  throw ContractError(std::string(kDeviceDocument) + ": `compute` is no word of coverage");
}

struct Architecture {
  int number = 0;  // 90 of sm_90
  bool specific = false;
};

// The architecture behind `prefix` at the beginning of `text`: "sm_90a,..." -> {90, true}.
std::optional<Architecture> architecture_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  Architecture architecture;
  std::size_t digits = 0;
  for (; digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0; ++digits) {
    architecture.number = architecture.number * 10 + (text[digits] - '0');
  }
  if (digits == 0) return std::nullopt;
  architecture.specific = digits < text.size() && std::isalpha(static_cast<unsigned char>(text[digits])) != 0;
  return architecture;
}

int number_of(const std::string& compute_capability) {
  std::string digits = compute_capability;
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  return std::stoi(digits);
}

}  // namespace

std::string_view to_string(Coverage coverage) { return kCoverages[static_cast<std::size_t>(coverage)]; }

std::string device_class(const std::string& compute_capability) {
  return "sm_" + std::to_string(number_of(compute_capability));
}

Coverage coverage_of(const std::string& flags, const std::string& compute_capability) {
  const int device = number_of(compute_capability);
  bool named = false;
  bool has_ptx = false;
  constexpr std::string_view kCode = "code=";
  for (auto at = flags.find(kCode); at != std::string::npos; at = flags.find(kCode, at + 1)) {
    const std::string_view code = std::string_view(flags).substr(at + kCode.size());
    if (const auto machine = architecture_after(code, "sm_")) {
      named = true;
      if (machine->specific ? machine->number == device
                            : machine->number / 10 == device / 10 && machine->number <= device) {
        return Coverage::native;
      }
    } else if (const auto ptx = architecture_after(code, "compute_")) {
      named = true;
      has_ptx = has_ptx || (ptx->specific ? ptx->number == device : ptx->number <= device);
    }
  }
  if (!named) return Coverage::unknown;
  return has_ptx ? Coverage::ptx : Coverage::none;
}

json to_json(const DeviceFacts& device) {
  return {{"name", device.name},
          {"compute_capability", device.compute_capability},
          {"uuid", device.uuid},
          {"sm_count", device.sm_count},
          {"memory_bytes", device.memory_bytes},
          {"l2_bytes", device.l2_bytes},
          {"clock_hz", device.clock_hz},
          {"memory_clock_hz", device.memory_clock_hz},
          {"memory_bus_bits", device.memory_bus_bits},
          {"ecc", device.ecc},
          {"mig", device.mig},
          {"pci_bus_id", device.pci_bus_id},
          {"driver_cuda", device.driver_cuda},
          {"compute", to_string(device.compute)}};
}

DeviceFacts device_facts_from_json(const json& object) {
  DeviceFacts device;
  device.name = required<std::string>(kDeviceDocument, object, "name");
  device.compute_capability = required<std::string>(kDeviceDocument, object, "compute_capability");
  device.uuid = required<std::string>(kDeviceDocument, object, "uuid");
  device.sm_count = required<int>(kDeviceDocument, object, "sm_count");
  device.memory_bytes = required<std::int64_t>(kDeviceDocument, object, "memory_bytes");
  device.l2_bytes = required<std::int64_t>(kDeviceDocument, object, "l2_bytes");
  device.clock_hz = required<std::int64_t>(kDeviceDocument, object, "clock_hz");
  device.memory_clock_hz = required<std::int64_t>(kDeviceDocument, object, "memory_clock_hz");
  device.memory_bus_bits = required<std::int64_t>(kDeviceDocument, object, "memory_bus_bits");
  device.ecc = required<bool>(kDeviceDocument, object, "ecc");
  device.mig = required<bool>(kDeviceDocument, object, "mig");
  device.pci_bus_id = required<std::string>(kDeviceDocument, object, "pci_bus_id");
  device.driver_cuda = required<std::string>(kDeviceDocument, object, "driver_cuda");
  device.compute = coverage_from(required<std::string>(kDeviceDocument, object, "compute"));
  return device;
}

}  // namespace reprobench
