#include "models/layers/token_loss.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>

namespace reprobench {

at::Tensor token_loss(const Outputs& outputs, const Batch& batch) {
  return at::cross_entropy_loss(outputs.front().flatten(0, 1), batch.field("target").flatten());
}

}  // namespace reprobench
