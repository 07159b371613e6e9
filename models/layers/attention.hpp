// Attention in the form of the knob `attention`: either matrix product, scale, mask, softmax, matrix product; or
// LibTorch's fused operator. That does not exist in every release and picks its kernel differently in each.
#pragma once

#include <cstdint>
#include <string>

namespace at {
class Tensor;
}

namespace reprobench {

class StepContext;

// A (T, T) bool mask on the device of `like`: true where a position would look ahead.
at::Tensor future_of(std::int64_t context, const at::Tensor& like);

// query (B, H, T, D), key and value (B, H, S, D) -> (B, T, H D), scaled by 1 / sqrt(D). `future` is future_of()'s; if
// it is undefined, every position sees all. Taps NAME.scores and NAME.softmax, unless fused, and NAME.mixed.
at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& future,
                  const std::string& name, StepContext& step);

}  // namespace reprobench
