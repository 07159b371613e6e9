// Refuses requests before a training allocates anything: those that name something unknown, ask for work that this
// worker does not do, or need a state that cannot fit. Every function throws RunFailure with the cause.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "matrix/contract/request.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/ranks/layout.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

const Model& model_named(std::span<const Model* const> all, std::string_view name);
const ModelPreset& preset_named(const Model& model, const std::string& name);

// Refuses settings that cannot be combined (contract/exclusion.hpp), with each other or with what a replay or a drill
// asks for. A plan skips such cells before anything starts.
void check_request(const CellRequest& request);

// The same for a device that launches a step as one piece, as `cuda_graph=on` opens it.
void check_recorded_steps(CellRequest request);

// Refuses a state that cannot fit, with the weights and gradients of `replicas` replicas, before any of it is
// allocated. Otherwise the kernel would kill the process, or swap.
void check_memory(const Model& model, const ModelPreset& preset, Precision precision, const ComputeDevice& device,
                  int replicas);

}  // namespace reprobench
