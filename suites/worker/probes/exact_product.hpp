// Matrix products to compare others with.
#pragma once

#include <cstdint>

namespace at {
class Tensor;
}

namespace reprobench {

// The product a b in fp64, of fp32 operands (M, K) and (K, N), on their device. LibTorch's own fp64 product is used for
// its speed. It is itself compared with dot products in long double at 64 elements, so that it does not vouch for
// itself. Throws std::runtime_error if it is wrong there.
at::Tensor exact_product(const at::Tensor& a, const at::Tensor& b);

// The largest distance of `product` (fp64) to dot products in long double, at `elements` evenly spread elements. Its
// unit is the norm of the row times the norm of the column, which bounds the error of rounding.
double worst_element_error_rel(const at::Tensor& product, const at::Tensor& a, const at::Tensor& b,
                               std::int64_t elements);

}  // namespace reprobench
