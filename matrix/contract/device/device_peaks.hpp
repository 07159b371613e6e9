// The data sheet of the GPU a cell was planned for, and the link between GPUs: the denominators of "share of peak". The
// coordinator takes them from matrix/facts/compat-facts.json and hands them to the worker, which has no facts of its
// own.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

struct DevicePeaks {
  std::string gpu;                            // the GPU's row in the facts, "H100 SXM"
  std::string device_name;                    // the name that the driver reports, "NVIDIA H100 80GB HBM3"
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

// The peak of the links between the GPUs that an attempt was given, from the host's topology; of several pairs the
// slowest. A data sheet describes a model of card; this value is for these GPUs in these slots.
struct LinkPeak {
  double gb_per_s = 0;  // 1 GB = 1e9 bytes, one direction
  std::string formula;  // "18 NVLinks x 25000 MB/s, from NVML"
};

template <>
struct Description<LinkPeak> {
  static constexpr About about = About::part(
      "link_peak", "Of the slowest pair of the attempt's GPUs, by the host's topology; absent where it is not known.");
  static void fields(auto& field, LinkPeak& peak) {
    field("gb_per_s", peak.gb_per_s, rule::at_least(0).says("One direction."));
    field("formula", peak.formula, rule::not_empty);
  }
};

}  // namespace reprobench
