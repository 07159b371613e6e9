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

void check_request(const CellRequest& request);

// What shows or launches a step as one piece: it knows a single forward and backward pass, and waits for nothing
// inside.
void check_whole_steps(const CellRequest& request, const Layout& layout, const ComputeDevice& device,
                       const KnobValues& resolved);

// What `optimizer_layout` asks for. A flat state is updated by loops of this program's own, on the CPU and all of it.
OptimizerLayout optimizer_layout_of(const KnobValues& resolved, const Layout& layout, const c10::Device& where,
                                    bool records_steps);

// What `offload` asks for: parameters lie on the host only where ranks share them out, and what a flat state or a
// recorded step is made of never leaves the device.
Offload offload_of(const KnobValues& resolved, const Layout& layout, OptimizerLayout optimizer_layout,
                   bool records_steps);

// Whether `overlap` has gradients exchanged while they come: data-parallel ranks of one micro-batch each can. One rank
// has nobody to exchange with.
bool overlaps(const KnobValues& resolved, const Layout& layout);

// A state that cannot fit, with the weights and gradients of that many replicas, is refused before any of it is
// allocated: the kernel would kill the process, or swap.
void check_memory(const Model& model, const ModelPreset& preset, Precision precision, const ComputeDevice& device,
                  int replicas);

}  // namespace reprobench
