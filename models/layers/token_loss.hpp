// The loss of a model that predicts tokens.
#pragma once

#include "models/model_spec.hpp"

namespace reprobench {

// Mean cross entropy of the first output (B, T, V) over the tokens of the field `target` (B, T). Tokens that are not to
// be predicted, of a prompt or a visible word, have the ignored index in `target`.
at::Tensor token_loss(const Outputs& outputs, const Batch& batch);

}  // namespace reprobench
