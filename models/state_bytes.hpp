// The memory that a preset's training keeps from step to step, by its model's declarations. It is known before anything
// is allocated. Activations, which depend on the batch, come on top.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/model_spec.hpp"

namespace reprobench {

struct StateBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;  // of trained parameters, as are the next two
  std::int64_t optimizer = 0;  // Adam and AdamW keep two numbers a parameter, SGD with momentum one
  std::int64_t scratch = 0;    // of the optimizer's step
  std::int64_t buffers = 0;

  std::int64_t total() const { return parameters + gradients + optimizer + scratch + buffers; }
};

// `element_bytes` is 4, or 8 if the run computes in fp64.
StateBytes state_bytes(const Model& model, const ModelPreset& preset, std::int64_t element_bytes);

// The bytes that the update of a step reads and writes at least, in fp32. For a trained parameter these are 28 bytes
// with Adam and AdamW: parameter, gradient and both moments are read, all but the gradient are written. SGD takes 20
// with momentum and 12 without.
std::int64_t update_bytes(const Model& model, const ModelPreset& preset);

// "parameters 27.0 GB + gradients 27.0 GB + optimizer 53.9 GB + scratch 27.0 GB + buffers 0.0 GB = 134.8 GB"
std::string arithmetic_of(const StateBytes& bytes);

}  // namespace reprobench
