// Matrix products to hold others against.
#pragma once

#include <cstdint>

namespace at {
class Tensor;
}

namespace reprobench {

// a b in fp64, of fp32 operands (M, K) and (K, N), on their device. LibTorch's own fp64 product is used for its speed
// and is itself held against dot products in long double at 64 elements, so that it cannot vouch for itself. Throws
// std::runtime_error if it is wrong there.
at::Tensor exact_product(const at::Tensor& a, const at::Tensor& b);

// Of `elements` evenly spread elements of `product`, fp64: the largest distance to the dot product in long double, in
// units of the norm of row times the norm of column, which bounds what rounding can do.
double worst_element_error_rel(const at::Tensor& product, const at::Tensor& a, const at::Tensor& b,
                               std::int64_t elements);

}  // namespace reprobench
