// One GPU as the worker's CUDA runtime sees it. The driver's management library reports the same card as a host fact
// (host_facts.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

namespace reprobench {

// Which code of the stack runs on a device: machine code made for it, PTX that the driver compiles, or neither. NCCL
// ships machine code alone, so LibTorch and NCCL of one stack can differ.
enum class Coverage { native, ptx, none, unknown };
template <>
struct Words<Coverage> {
  static constexpr std::array<std::string_view, 4> table = {"native", "ptx", "none", "unknown"};
};

struct DeviceFacts {
  std::string name;                // "NVIDIA H100 80GB HBM3"
  std::string compute_capability;  // "9.0"
  std::string uuid;                // "GPU-..."; empty in a fingerprint, which two cards of one model share
  int sm_count = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t clock_hz = 0;  // highest SM clock; 0 if the runtime no longer reports it
  std::int64_t memory_clock_hz = 0;
  std::int64_t memory_bus_bits = 0;
  bool ecc = false;
  bool mig = false;  // the device is a slice of a card
  std::string pci_bus_id;
  std::string driver_cuda;               // newest CUDA the driver supports: "13.0"
  Coverage compute = Coverage::unknown;  // coverage of LibTorch's own kernels
};

template <>
struct Description<DeviceFacts> {
  static constexpr About about = About::part("device_facts", "One GPU as the worker's CUDA runtime sees it.");
  static void fields(auto& field, DeviceFacts& device) {
    field("name", device.name);
    field("compute_capability", device.compute_capability);
    field("uuid", device.uuid, "Empty in a fingerprint.");
    field("sm_count", device.sm_count, rule::at_least(0));
    field("memory_bytes", device.memory_bytes, rule::at_least(0));
    field("l2_bytes", device.l2_bytes, rule::at_least(0));
    field("clock_hz", device.clock_hz, rule::at_least(0));
    field("memory_clock_hz", device.memory_clock_hz, rule::at_least(0));
    field("memory_bus_bits", device.memory_bus_bits, rule::at_least(0));
    field("ecc", device.ecc);
    field("mig", device.mig);
    field("pci_bus_id", device.pci_bus_id);
    field("driver_cuda", device.driver_cuda);
    field("compute", device.compute);
  }
};

// "9.0" -> "sm_90". Empty if the text is no compute capability, such as when a driver does not report it.
std::string device_class(const std::string& compute_capability);

// How code for the architectures in `flags` runs on a device. `flags` is text as compilers take it
// ("-gencode;arch=compute_80,code=sm_80;..."), which LibTorch prints for itself. Machine code runs on devices of its
// major version with the same or a higher minor one. Code for an architecture-specific target such as sm_90a runs on
// that one alone. `unknown` if the text names no architecture.
Coverage coverage_of(const std::string& flags, const std::string& compute_capability);

}  // namespace reprobench
