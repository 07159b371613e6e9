// matrix/facts/compat-facts.json as values: the rows the rules of compat_rules.cpp need.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reprobench {

// What the Linux x86_64 wheel of one torch release and CUDA variant carries. Empty text: not known.
struct TorchWheel {
  std::string torch;            // "2.9": facts hold for all patch releases
  std::string variant;          // "cu128"
  std::string cuda_toolkit;     // "12.8.1"
  std::string cudnn;            // "9.10.2.21"
  std::string nccl;             // "2.27.5"
  std::vector<std::string> sm;  // "9.0", or "12.0+PTX"; empty: not known
  std::string glibc_min;
};

// The compute capabilities of one architecture and the last driver branch that serves them.
struct ArchitectureEnd {
  std::string architecture;  // "Volta 7.x"
  std::string compute_capability_min;
  std::string compute_capability_max;
  int last_driver_branch = 0;  // 580 for R580; 0: still served
};

struct CompatFacts {
  std::vector<TorchWheel> torch_wheels;
  std::map<int, std::string> driver_floor;            // CUDA major -> lowest driver
  std::map<std::string, std::string> toolkit_driver;  // CUDA toolkit -> driver it installs
  std::vector<ArchitectureEnd> architecture_ends;
};

// Throws std::runtime_error if the file is missing or is not what this build reads.
CompatFacts load_compat_facts(const std::filesystem::path& path);
CompatFacts parse_compat_facts(const std::string& text);

// Compares dotted versions number by number, "12.10" after "12.9"; missing parts count as 0.
int compare_versions(const std::string& a, const std::string& b);

}  // namespace reprobench
