#include "matrix/contract/capability.hpp"

#include "matrix/contract/version.hpp"

namespace reprobench {

using nlohmann::json;

json to_json(const Capability& capability) {
  json object = document("capability");
  object["torch_version"] = capability.torch_version;
  object["devices"] = capability.devices;
  object["gpus"] = json::array();
  for (const DeviceFacts& gpu : capability.gpus) object["gpus"].push_back(to_json(gpu));
  object["gpu_problem"] = capability.gpu_problem;
  object["knobs"] = json::array();
  for (const KnobSupport& knob : capability.knobs) {
    object["knobs"].push_back({{"name", knob.name}, {"values", knob.values}, {"reason", knob.reason}});
  }
  object["workloads"] = json::array();
  for (const WorkloadDescription& workload : capability.workloads) {
    json presets = json::array();
    for (const WorkloadPreset& preset : workload.presets) {
      presets.push_back({{"name", preset.name}, {"parameters", preset.parameters}, {"batch_size", preset.batch_size}});
    }
    object["workloads"].push_back(
        {{"model", workload.model}, {"summary", workload.summary}, {"presets", std::move(presets)}});
  }
  object["fingerprint"] = to_json(capability.fingerprint);
  return object;
}

Capability capability_from_json(const json& object) {
  require_document(object, "capability");
  Capability capability;
  try {
    capability.torch_version = object.at("torch_version").get<std::string>();
    capability.devices = object.at("devices").get<std::vector<std::string>>();
    for (const json& gpu : object.at("gpus")) capability.gpus.push_back(device_facts_from_json(gpu));
    capability.gpu_problem = object.at("gpu_problem").get<std::string>();
    for (const json& knob : object.at("knobs")) {
      capability.knobs.push_back({knob.at("name").get<std::string>(), knob.at("values").get<std::vector<std::string>>(),
                                  knob.at("reason").get<std::string>()});
    }
    for (const json& workload : object.at("workloads")) {
      WorkloadDescription description{
          workload.at("model").get<std::string>(), workload.at("summary").get<std::string>(), {}};
      for (const json& preset : workload.at("presets")) {
        description.presets.push_back({preset.at("name").get<std::string>(),
                                       preset.at("parameters").get<std::int64_t>(),
                                       preset.at("batch_size").get<std::int64_t>()});
      }
      capability.workloads.push_back(std::move(description));
    }
  } catch (const json::exception& error) {
    throw ContractError(std::string("capability: ") + error.what());
  }
  capability.fingerprint = fingerprint_from_json(object.at("fingerprint"));
  return capability;
}

}  // namespace reprobench
