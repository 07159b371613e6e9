// A compiler has one choice: it rounds a product before the addition, or adds it unrounded.
#pragma once

#include <cmath>

namespace reprobench {

inline float multiply_add(bool is_fused, float a, float b, float c) { return is_fused ? std::fma(a, b, c) : a * b + c; }

// The letter in the text of an order: f for fused, r for rounded.
inline char fused_letter(bool is_fused) { return is_fused ? 'f' : 'r'; }

}  // namespace reprobench
