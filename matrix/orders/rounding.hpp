// A compiler has one choice: it rounds a product before the addition, or adds it unrounded.
#pragma once

#include <cmath>

namespace reprobench {

inline float multiply_add(bool is_fused, float a, float b, float c) { return is_fused ? std::fma(a, b, c) : a * b + c; }

// If two products are added, at most one of them can be fused.
enum class FusedProduct { none, first, second };

// a b + c d
inline float sum_of_products(FusedProduct fused, float a, float b, float c, float d) {
  if (fused == FusedProduct::first) return std::fma(a, b, c * d);
  if (fused == FusedProduct::second) return std::fma(c, d, a * b);
  return a * b + c * d;
}

// The letter in the text of an order: f for fused, r for rounded.
inline char fused_letter(bool is_fused) { return is_fused ? 'f' : 'r'; }
// `letters`: one for each value.
inline char fused_letter(FusedProduct fused, const char* letters) { return letters[static_cast<int>(fused)]; }

}  // namespace reprobench
