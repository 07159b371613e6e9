// A product of 8-bit floating-point operands (E4M3), where LibTorch has one.
#pragma once

#include <functional>

namespace at {
class Tensor;
}

namespace reprobench {

// Rounds `a` (M, K) and `b` (K, N) to E4M3 once; every call multiplies them, into bf16, without shortened accumulation.
// Empty where this LibTorch has no such product (before 2.5).
std::function<at::Tensor()> fp8_product(const at::Tensor& a, const at::Tensor& b);

}  // namespace reprobench
