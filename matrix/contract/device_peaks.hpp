// The data sheet of the GPU a cell was planned for: the denominators of "share of peak". Taken from
// matrix/facts/compat-facts.json by the coordinator and handed to the worker, which knows no facts of its own.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

struct DevicePeaks {
  std::string gpu;                            // the row of the facts, "H100 SXM"
  std::string device_name;                    // as the driver names it, "NVIDIA H100 80GB HBM3"
  double memory_gb_per_s = 0;                 // 1 GB = 1e9 bytes
  std::map<std::string, double> tflop_per_s;  // by dtype ("fp32", "tf32", "bf16", "fp16", "fp8"), dense
  std::optional<double> nvlink_gb_per_s;      // one direction
  std::optional<double> host_link_gb_per_s;   // PCIe x16 of the card's generation, one direction, without its protocol
};

template <>
struct Description<DevicePeaks> {
  static constexpr About about =
      About::part("peaks", "The data sheet of the GPU the cell was planned for; absent for a CPU or an unknown GPU.");
  static void fields(auto& field, DevicePeaks& peaks) {
    field("gpu", peaks.gpu);
    field("device_name", peaks.device_name);
    field("memory_gb_per_s", peaks.memory_gb_per_s, rule::at_least(0));
    field("tflop_per_s", peaks.tflop_per_s, rule::at_least(0));
    field.optional("nvlink_gb_per_s", peaks.nvlink_gb_per_s, rule::at_least(0).says("One direction."));
    field.optional("host_link_gb_per_s", peaks.host_link_gb_per_s, rule::at_least(0).says("One direction."));
  }
};

}  // namespace reprobench
