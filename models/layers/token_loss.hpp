// The loss of a model that tells tokens.
#pragma once

#include "models/model_spec.hpp"

namespace reprobench {

// Mean cross entropy of the first output (B, T, V) over the tokens of the field `target` (B, T). Those that are not to
// be told, a prompt or a word in sight, have there the index that is ignored.
at::Tensor token_loss(const Outputs& outputs, const Batch& batch);

}  // namespace reprobench
