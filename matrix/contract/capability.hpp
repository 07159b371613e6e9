// The reply of `reprobench-worker describe`: what one stack's worker can do, before any cell runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/result.hpp"

namespace reprobench {

struct KnobSupport {
  std::string name;
  std::vector<std::string> values;  // those this stack honours
  std::string reason;               // why others are missing; empty if none is
};

struct WorkloadPreset {
  std::string name;
  std::int64_t parameters = 0;
  std::int64_t batch_size = 0;
};

struct WorkloadDescription {
  std::string model;
  std::string summary;
  std::vector<WorkloadPreset> presets;
};

struct Capability {
  std::string torch_version;         // as the library says it
  std::vector<std::string> devices;  // "cpu", "sm_90"
  std::vector<DeviceFacts> gpus;     // those this process sees
  std::string gpu_problem;           // why there is none to be used; empty if there is
  std::vector<KnobSupport> knobs;
  std::vector<WorkloadDescription> workloads;
  Fingerprint fingerprint;
};

nlohmann::json to_json(const Capability& capability);

// Throws ContractError naming the field.
Capability capability_from_json(const nlohmann::json& json);

}  // namespace reprobench
