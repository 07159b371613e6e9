// What is known of releases, drivers and GPUs: matrix/facts/compat-facts.json, read once. The rules over it are in
// compat_rules.cpp; sources and confidence of every row are in the file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/device/device_peaks.hpp"

namespace reprobench {

// One x86_64 Linux wheel of torch.
struct WheelFacts {
  std::string torch;                    // release line, "2.9"
  std::string variant;                  // "cu128"
  std::string cuda_toolkit;             // "12.8.1"; empty if not verified, like the two below
  std::string cudnn;                    // "9.10.2.21"
  std::string nccl;                     // "2.27.5"
  std::vector<std::string> kernels_of;  // compute capabilities with machine code, "9.0"; "12.0+PTX" adds PTX; empty if
                                        // not verified
  int cxx11_abi = -1;                   // -1 if not verified
  std::string glibc_min;                // "2.28"; empty if not verified
};

// The last driver branch that knows an architecture.
struct ArchitectureEnd {
  std::string name;                               // "Volta"
  std::vector<std::string> compute_capabilities;  // "7.0"
  int last_driver_branch = 0;                     // 580
};

struct CompatFacts {
  std::vector<WheelFacts> wheels;
  std::map<std::string, std::string> toolkit_driver;  // toolkit "12.8.1" -> the driver it installs, "570.124.06"
  std::map<int, std::string> driver_floor;            // CUDA major -> lowest driver that runs it at all
  std::vector<ArchitectureEnd> architecture_ends;     // only those that have ended
  std::vector<DevicePeaks> device_peaks;              // one for every name a driver gives a GPU
  std::map<std::string, std::vector<std::string>>
      forward_compat;  // CUDA "12.6" -> driver branches on which its cuda-compat package is supported, "535.86"
  std::vector<std::string> data_center_gpus;  // words of their names, "H100": cuda-compat is for these alone

  // The row of a wheel; null if there is none.
  const WheelFacts* find_wheel(const std::string& torch_line, const std::string& variant) const;
  std::vector<std::string> variants_of(const std::string& torch_line) const;

  // The data sheet of a GPU by the name its driver gives it, exactly: a MIG slice has another; null if there is none.
  const DevicePeaks* find_peaks(const std::string& device_name) const;

  // The driver a toolkit installs, "12.8" meaning its first release; empty if unknown.
  std::string driver_of_toolkit(const std::string& toolkit) const;
};

// Both throw ContractError naming the field.
CompatFacts compat_facts_from_json(const nlohmann::json& json);
CompatFacts load_compat_facts(const std::filesystem::path& path);

}  // namespace reprobench
