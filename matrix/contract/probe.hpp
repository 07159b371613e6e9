// Probes: workloads that are no model. A probe does a few operations on the device, checks each result before it is
// timed, and records measurements (probe_measurement.hpp). Every probe and operation has a row in probe.cpp. The
// function of a probe is in suites/worker/probes/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

struct ProbeOperation {
  std::string_view name;  // "triad"
  std::string_view unit;  // of its samples: "GB/s" (1e9 bytes), "TFLOP/s", "ns", "bytes", "bits", "count"
  std::string_view summary;
};

struct ProbeInfo {
  std::string_view name;  // "device_memory"
  std::string_view summary;
  std::span<const std::string_view> presets;
  std::span<const ProbeOperation> operations;
  bool of_ranks = false;  // it measures between the processes of an attempt, and takes two or more
  int devices = 1;        // that one process sees; two or more if the probe measures between them
};

// The probe whose work is a list of operator calls: it runs `calls` of its request.
inline constexpr std::string_view kOperatorsProbe = "operators";
// The preset of that probe that also reads off the order in which each call adds up (contract/call_order.hpp).
inline constexpr std::string_view kOrdersPreset = "orders";

// The probe that runs an AOTInductor package of the user's: it needs `package_file` in its request.
inline constexpr std::string_view kPackageProbe = "package";

// All probes, in the order in which users meet them. An operation of several probes has one unit.
std::span<const ProbeInfo> probes();

const ProbeInfo* find_probe(std::string_view name);
const ProbeOperation* find_probe_operation(std::string_view name);

std::vector<std::string> probe_names();
std::vector<std::string> probe_operation_names();

// Labels that a measurement may have beside its operation.
//   dtype   "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int32", "int64"; of its operands
//   shape   "1024x1024x1024": rows, columns and depth of a product; see each probe
//   size    "64MiB": of one array, of the memory a pointer wanders through, or of one call of a collective
//   memory  "pinned", "pageable": of the host's side of a transfer
//   placement "in_place", "out_of_place": whether a collective's result replaces what the rank brought
//   library "cublaslt", "reprobench", "gloo": for an operation that does not go through LibTorch
//   direction "0-1", "1-0": from which of two devices to which; "both"
//   model   "mlp/base": the model whose forward pass it is
//   batch   "32": samples of one forward pass
//   call    "relu(f32[64, 128])": an operator call as declared_call.hpp writes it
std::span<const std::string_view> measurement_labels();

}  // namespace reprobench
