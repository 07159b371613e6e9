// Memory that a preset's training keeps from step to step, from what its model declares: known before anything is
// allocated. Activations, which depend on the batch, come on top.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/model_spec.hpp"

namespace reprobench {

struct StateBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;  // of trained parameters, as all that follows
  std::int64_t optimizer = 0;  // Adam and AdamW keep two numbers a parameter, SGD with momentum one
  std::int64_t scratch = 0;    // of the optimizer's step
  std::int64_t buffers = 0;

  std::int64_t total() const { return parameters + gradients + optimizer + scratch + buffers; }
};

// `element_bytes`: 4, or 8 where the run computes in fp64.
StateBytes state_bytes(const Model& model, const ModelPreset& preset, std::int64_t element_bytes);

// What the update of a step reads and writes at least: of a trained parameter 28 bytes under Adam and AdamW (parameter,
// gradient and both moments read, all but the gradient written), 20 with momentum, 12 without; in fp32.
std::int64_t update_bytes(const Model& model, const ModelPreset& preset);

// "parameters 27.0 GB + gradients 27.0 GB + optimizer 53.9 GB + scratch 27.0 GB + buffers 0.0 GB = 134.8 GB"
std::string arithmetic_of(const StateBytes& bytes);

}  // namespace reprobench
