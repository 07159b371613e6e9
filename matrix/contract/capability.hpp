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
  std::vector<std::string> values;  // the values that this stack supports
  std::string reason;               // why other values are missing; empty if none is
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
  std::string takes_data = {};     // the data set that a user's file may replace; empty: none
  std::string takes_weights = {};  // "Hugging Face GPT-2": whose tensor names a file of weights has; empty: none read
};

struct Capability {
  std::string torch_version;         // as the library reports it
  std::vector<std::string> devices;  // "cpu", "sm_90"
  std::vector<DeviceFacts> gpus;     // those that this process sees
  std::string gpu_problem;           // why no GPU can be used; empty if one can
  std::vector<KnobSupport> knobs;
  std::vector<WorkloadDescription> workloads;
  Fingerprint fingerprint;
};

template <>
struct Description<KnobSupport> {
  static constexpr About about = About::part("knob");
  static void fields(auto& field, KnobSupport& knob) {
    field("name", knob.name);
    field("values", knob.values);
    field("reason", knob.reason, "Why values are missing; empty if none is.");
  }
};

template <>
struct Description<WorkloadPreset> {
  static constexpr About about = About::part("preset");
  static void fields(auto& field, WorkloadPreset& preset) {
    field("name", preset.name);
    field("parameters", preset.parameters, rule::at_least(0));
    field("batch_size", preset.batch_size, rule::at_least(0));
  }
};

template <>
struct Description<WorkloadDescription> {
  static constexpr About about = About::part("described_workload");
  static void fields(auto& field, WorkloadDescription& workload) {
    field("model", workload.model);
    field("summary", workload.summary);
    field("presets", workload.presets);
    field.optional("takes_data", workload.takes_data,
                   "The data set that a file of the user's may stand in for; absent: none may.");
    field.optional("takes_weights", workload.takes_weights,
                   "Whose names a file of weights of the user's has; absent: none is read.");
  }
};

template <>
struct Description<Capability> {
  static constexpr About about =
      About::document("capability", "The reply of `reprobench-worker describe`: what one stack's worker can do");
  static void fields(auto& field, Capability& capability) {
    field("torch_version", capability.torch_version);
    field("devices", capability.devices);
    field("gpus", capability.gpus);
    field("gpu_problem", capability.gpu_problem, "Why this worker can use no GPU; empty if it can.");
    field("knobs", capability.knobs);
    field("workloads", capability.workloads);
    field("fingerprint", capability.fingerprint);
  }
};

nlohmann::json to_json(const Capability& capability);

// Throws ContractError naming the field.
Capability capability_from_json(const nlohmann::json& json);

}  // namespace reprobench
