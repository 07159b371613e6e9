// What a product did to its operands, read off results that tell precisions apart.
#pragma once

#include <cstdint>

namespace at {
class Tensor;
}

namespace reprobench {

// Significand bits of an fp32 operand that survived a product with ones: `result` is what became of
// rounding_probe_operand(). 24: IEEE; 11: TF32; 8: bf16. Counted from the largest power of two whose companion was
// kept.
int kept_significand_bits(const at::Tensor& result);

// 1 + 2^-k for k = 1 ... 23: rounding to p significand bits turns those with k >= p into 1 (ties go to even) or, where
// rounding is not to nearest, into something else that is not themselves.
at::Tensor rounding_probe_operand();

// What a product of two `side` x `side` matrices (`side` at least 23) makes of the operand, on its device. Each of its
// elements is one of the operand's times 1.
at::Tensor rounding_product(const at::Tensor& operand, std::int64_t side);

}  // namespace reprobench
