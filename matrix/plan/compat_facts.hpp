// What is known of releases, drivers and GPUs: matrix/facts/compat-facts.json, read once. The rules over it are in
// compat_rules.cpp (a cell on a host) and stack_question.cpp (a stack that someone claims).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/device/device_peaks.hpp"
#include "matrix/plan/known_defects.hpp"

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
  std::string released;                 // "2025-10", a month or a day; empty if not verified, like the three below
  std::string python_min;               // "3.10"
  std::string python_max;               // "3.14"
  std::string python_experimental;      // "3.15" where there is one; empty also where there is none
  int cxx_standard = 0;                 // 17; 0 if not verified
  Evidence evidence;
};

// How a release differs from the first one of its line: torch 2.1.1 on CUDA 11.8 has NCCL 2.18.6.
struct PatchDifference {
  std::string torch;    // "2.1.1", the first release with it
  std::string variant;  // "cu118"
  std::string component;
  std::string version;
  Evidence evidence;
};

// The last release of torch that a channel has. A channel is the wheels of one CUDA variant, or another way to get
// torch.
struct ChannelEnd {
  std::string channel;  // "cu118", "conda"
  std::string last_torch;
  Evidence evidence;
};

// How a torch that does not come as a wheel differs from the wheel's row.
struct ChannelDifference {
  std::vector<std::string> channels;  // kChannels of stack_question.cpp
  std::string sentence;
  Evidence evidence;
};

// The tags of the official Docker images of one release.
struct DockerTags {
  std::string torch;              // "2.1.0", or a line
  std::vector<std::string> cuda;  // "11.8"
  std::string cudnn;              // "8", as the tag says it
  Evidence evidence;
};

// A release of cuDNN or NCCL and what it was built for.
struct LibraryFacts {
  std::string version;            // "9.10.2", "2.12.12"
  std::vector<std::string> cuda;  // ranges: "11.8", ">=12.0 <=12.9"; empty if not verified
  std::string capability_min;     // "5.0"; empty if not verified, like the one below
  std::string capability_max;     // "12.0"; empty also where there is none
  std::string note;
  Evidence evidence;
};

// A package that is built against one release of torch and whose operators fail to load with another: torchvision,
// torchaudio.
struct TorchCompanion {
  std::string package;
  std::map<std::string, std::string> torch_of;  // its release -> what its METADATA wants: "2.9.0", ">=2.14.0"
  Evidence evidence;
};

struct DriverBranch {
  int number = 0;    // 535
  std::string kind;  // "LTS"
  std::string end;   // "2026-06"
};

// The last driver branch that knows an architecture.
struct ArchitectureEnd {
  std::string name;                               // "Volta"
  std::vector<std::string> compute_capabilities;  // "7.0"
  int last_driver_branch = 0;                     // 580
  std::string last_cuda;                          // "12", all of it, or "10.2"
  Evidence evidence;
};

// The first driver that knows an architecture.
struct ArchitectureStart {
  std::string name;
  std::vector<std::string> compute_capabilities;
  std::string first_driver;  // "570.26"
  Evidence evidence;
};

struct CompatFacts {
  std::vector<WheelFacts> wheels;
  std::map<std::string, std::string> toolkit_driver;  // toolkit "12.8.1" -> the driver it installs, "570.124.06"
  std::map<int, std::string> driver_floor;            // CUDA major -> lowest driver that runs it at all
  std::vector<ArchitectureEnd> architecture_ends;     // only those that have ended
  std::vector<DevicePeaks> device_peaks;              // one for every name a driver gives a GPU
  std::map<std::string, std::vector<std::string>>
      forward_compat;  // CUDA "12.6" -> driver branches on which its cuda-compat package is supported, "535.86"
  std::vector<std::string> data_center_gpus;   // words of their names, "H100": cuda-compat is for these alone
  std::map<std::string, std::string> sources;  // key "E4" -> where to find it again
  std::vector<std::string> torch_releases;     // "2.9.1", every one that the index offered; see the file's date
  Evidence torch_releases_evidence;
  std::map<std::string, Evidence> toolkit_evidence;  // of toolkit_driver
  std::map<int, Evidence> floor_evidence;            // of driver_floor
  Evidence forward_evidence;
  std::vector<PatchDifference> patch_differences;
  std::vector<ChannelEnd> channel_ends;
  std::vector<ChannelDifference> channel_differences;
  std::vector<DockerTags> docker_tags;
  std::vector<TorchCompanion> companions;
  std::vector<DriverBranch> driver_branches;
  std::vector<ArchitectureStart> architecture_starts;
  std::vector<LibraryFacts> cudnn;
  std::vector<LibraryFacts> nccl;
  std::vector<KnownDefect> known_defects;

  // The row of a wheel; null if there is none.
  const WheelFacts* find_wheel(const std::string& torch_line, const std::string& variant) const;
  std::vector<std::string> variants_of(const std::string& torch_line) const;

  // The data sheet of a GPU by the name its driver gives it, exactly: a MIG slice has another; null if there is none.
  const DevicePeaks* find_peaks(const std::string& device_name) const;

  // The driver a toolkit installs, "12.8" meaning its first release; empty if unknown.
  std::string driver_of_toolkit(const std::string& toolkit) const;
};

// Both throw ContractError naming the field, or the rows that contradict each other (compat_facts_check.hpp).
CompatFacts compat_facts_from_json(const nlohmann::json& json);
CompatFacts load_compat_facts(const std::filesystem::path& path);

}  // namespace reprobench
