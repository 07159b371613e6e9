#include "suites/worker/describe.hpp"

#include <algorithm>

#include "models/data_set.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/stack_probe.hpp"

namespace reprobench {

Capability describe_worker() {
  Capability capability;
  capability.torch_version = loaded_torch_version();
  capability.devices = {"cpu"};
  capability.gpus = visible_devices(capability.gpu_problem);
  for (const DeviceFacts& gpu : capability.gpus) {
    const std::string name = device_class(gpu.compute_capability);
    if (std::find(capability.devices.begin(), capability.devices.end(), name) == capability.devices.end()) {
      capability.devices.push_back(name);
    }
  }
  capability.knobs = knob_support();
  for (const Model* model : models()) {
    WorkloadDescription description{std::string(model->name()), std::string(model->summary()), {}, {}, {}};
    for (const ModelPreset& preset : model->presets()) {
      description.presets.push_back({std::string(preset.name), preset.parameters, preset.batch_size});
    }
    const auto data = std::ranges::find(data_sets(), model->dataset(), &DataSetRow::name);
    if (data != data_sets().end() && data->open_own != nullptr) description.takes_data = data->name;
    description.takes_weights = model->published_naming().by;
    capability.workloads.push_back(std::move(description));
  }
  capability.fingerprint = probe_stack();
  return capability;
}

}  // namespace reprobench
