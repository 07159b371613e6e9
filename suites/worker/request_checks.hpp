// What is refused before a training allocates anything: a request that names nothing there is, what this worker does
// not do, and a state that cannot fit. Every function throws RunFailure with the cause.
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

// Settings that cannot be had together (contract/exclusion.hpp), which a plan skips before anything starts, and what a
// replay or a drill asks for beside them.
void check_request(const CellRequest& request);

// The same for a device that launches a step as one piece, as `cuda_graph=on` opens it.
void check_recorded_steps(CellRequest request);

// A state that cannot fit, with the weights and gradients of that many replicas, is refused before any of it is
// allocated: the kernel would kill the process, or swap.
void check_memory(const Model& model, const ModelPreset& preset, Precision precision, const ComputeDevice& device,
                  int replicas);

}  // namespace reprobench
