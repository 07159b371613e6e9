// The one choice that a compiler has: a product is rounded before it is added, or joins unrounded.
#pragma once

#include <cmath>

namespace reprobench {

inline float multiply_add(bool is_fused, float a, float b, float c) { return is_fused ? std::fma(a, b, c) : a * b + c; }

// In the text of an order: fused, or rounded.
inline char fused_letter(bool is_fused) { return is_fused ? 'f' : 'r'; }

}  // namespace reprobench
