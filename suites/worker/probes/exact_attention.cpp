#include "suites/worker/probes/exact_attention.hpp"

#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

namespace reprobench {

at::Tensor composed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const at::Tensor logits = at::matmul(q, k.transpose(-2, -1)).div(std::sqrt(static_cast<double>(q.size(-1))));
  return at::matmul(logits.softmax(-1), v);
}

at::Tensor exact_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  at::Tensor exact = at::empty(q.sizes(), q.options().dtype(at::kDouble));
  for (std::int64_t element = 0; element < q.size(0); ++element) {
    const auto wide = [&](const at::Tensor& tensor) { return tensor[element].to(at::kDouble); };
    exact[element].copy_(composed_attention(wide(q), wide(k), wide(v)));
  }
  return exact;
}

}  // namespace reprobench
