#include "suites/worker/request_checks.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <c10/core/Device.h>

#include "matrix/base/available_memory.hpp"
#include "matrix/contract/exclusion.hpp"
#include "models/state_bytes.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {

const Model& model_named(std::span<const Model* const> all, std::string_view name) {
  for (const Model* model : all) {
    if (model->name() == name) return *model;
  }
  throw RunFailure("bad_request", "there is no model `" + std::string(name) + "`");
}

const ModelPreset& preset_named(const Model& model, const std::string& name) {
  for (const ModelPreset& preset : model.presets()) {
    if (preset.name == name) return preset;
  }
  throw RunFailure("bad_request", "model `" + std::string(model.name()) + "` has no preset `" + name + "`");
}

void check_request(const CellRequest& request) {
  if (request.workload.steps < 1) throw RunFailure("bad_request", "`steps` is not positive");
  if (const auto exclusion = exclusion_of(request, settings_of(request.knobs))) {
    throw RunFailure(std::string(exclusion->cause), exclusion->sentence);
  }
  if (request.poison_allocator && std::getenv("MALLOC_PERTURB_") == nullptr) {
    throw RunFailure("bad_request", "`poison_allocator` is asked for, but MALLOC_PERTURB_ is not set");
  }
}

void check_recorded_steps(CellRequest request) {
  set<&Settings::cuda_graph>(request.knobs, true);
  check_request(request);
}

void check_memory(const Model& model, const ModelPreset& preset, Precision precision, const ComputeDevice& device,
                  int replicas) {
  if (!device.where().is_cpu()) return;
  StateBytes bytes = state_bytes(model, preset, precision == Precision::fp64 ? 8 : 4);
  for (std::int64_t StateBytes::*each : {&StateBytes::parameters, &StateBytes::gradients, &StateBytes::buffers}) {
    bytes.*each *= replicas;
  }
  const std::int64_t available_bytes = available_memory_bytes();
  if (bytes.total() <= available_bytes) return;
  std::array<char, 64> have{};
  std::snprintf(have.data(), have.size(), "%.1f GB are available", static_cast<double>(available_bytes) * 1e-9);
  throw RunFailure("host_oom", std::string(model.name()) + "/" + std::string(preset.name) + " keeps " +
                                   arithmetic_of(bytes) + "; " + have.data());
}

}  // namespace reprobench
