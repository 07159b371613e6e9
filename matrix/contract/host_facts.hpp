// What a machine is: facts a plan is resolved against, never choices. This one's are found out by matrix/host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/gpu_facts.hpp"

namespace reprobench {

struct HostFacts {
  std::string host_name;
  std::string os;  // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;
  std::string glibc;         // "2.36"
  std::string architecture;  // "x86_64"
  std::string cpu_model;
  std::vector<std::string> cpu_isa;  // subset of "avx2", "avx512"
  int cores = 1;                     // this process may use
  std::int64_t memory_bytes = 0;
  std::string driver;       // "570.124.06"; empty without an NVIDIA driver
  std::string driver_cuda;  // "12.8": the newest CUDA that driver knows
  std::vector<GpuFacts> gpus;
};

nlohmann::json to_json(const HostFacts& host);

// Throws ContractError naming the field.
HostFacts host_facts_from_json(const nlohmann::json& json);

}  // namespace reprobench
