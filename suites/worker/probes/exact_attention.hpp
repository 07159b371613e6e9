// Attention to compare other implementations with.
#pragma once

namespace at {
class Tensor;
}

namespace reprobench {

// Scaled dot product attention of (batch, heads, tokens, width), in single operators.
at::Tensor composed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

// The same in fp64, one element of the batch after the other: the weights of all of them at once would take gigabytes.
at::Tensor exact_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

}  // namespace reprobench
