// How a product rounded its operands, read off results that tell precisions apart.
#pragma once

#include <cstdint>

namespace at {
class Tensor;
}

namespace reprobench {

// Significand bits of an fp32 operand that survived a product with ones: `result` is the product of
// rounding_probe_operand() with ones. 24: IEEE; 11: TF32; 8: bf16. Counted from the largest power of two whose
// companion was kept.
int kept_significand_bits(const at::Tensor& result);

// The numbers 1 + 2^-k for k = 1 ... 23. Rounding to p significand bits turns those with k >= p into 1 (ties go to
// even) or, where rounding is not to nearest, into some other value than themselves.
at::Tensor rounding_probe_operand();

// The operand after a product of two `side` x `side` matrices (`side` at least 23), on its device. Each element is one
// of the operand's times 1.
at::Tensor rounding_product(const at::Tensor& operand, std::int64_t side);

}  // namespace reprobench
