#include "suites/worker/describe.hpp"

#include "models/model_spec.hpp"
#include "suites/worker/knobs.hpp"
#include "suites/worker/stack_probe.hpp"

namespace reprobench {

Capability describe_worker() {
  Capability capability;
  capability.torch_version = loaded_torch_version();
  capability.devices = {"cpu"};
  capability.knobs = knob_support();
  for (const Model* model : models()) {
    WorkloadDescription description{std::string(model->name()), std::string(model->summary()), {}};
    for (const ModelPreset& preset : model->presets()) {
      description.presets.push_back({std::string(preset.name), preset.parameters, preset.batch_size});
    }
    capability.workloads.push_back(std::move(description));
  }
  capability.fingerprint = probe_stack();
  return capability;
}

}  // namespace reprobench
