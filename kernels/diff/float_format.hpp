// The floating-point formats as bit fields: sign, magnitude, value.
#pragma once

#include "kernels/portable.hpp"

namespace reprobench {

// A format of 8 * sizeof(Word) bits. Magnitudes, the bits without the sign, order like the values: finite ones come
// first, then infinity if the format has one, then NaNs.
template <class WordType, int exponent_bits, int mantissa_bits, bool has_infinity>
struct FloatFormat {
  using Word = WordType;
  static constexpr Word kMagnitude = static_cast<Word>(~Word{0}) >> 1;
  static constexpr Word kInfinity =
      static_cast<Word>(((uint64_t{1} << exponent_bits) - 1) << mantissa_bits);  // where there is one
  static constexpr Word kFirstNotFinite = has_infinity ? kInfinity : kMagnitude;

  static constexpr Word magnitude(Word bits) { return bits & kMagnitude; }
  static constexpr bool is_finite(Word bits) { return magnitude(bits) < kFirstNotFinite; }
  static constexpr bool is_infinite(Word bits) { return has_infinity && magnitude(bits) == kInfinity; }
  static constexpr bool is_nan(Word bits) { return !is_finite(bits) && !is_infinite(bits); }
  static constexpr bool is_negative(Word bits) { return (bits & static_cast<Word>(~kMagnitude)) != 0; }

  // The value of a finite element. The magnitude, moved to where fp64 has its fields, is the value except for the
  // exponent's bias. One exact multiplication corrects that, subnormals included.
  static double finite_value(Word bits) {
    if constexpr (sizeof(Word) == 8) {
      return bits_to_double(bits);
    } else if constexpr (sizeof(Word) == 4) {
      return static_cast<double>(bits_to_float(bits));
    } else {
      constexpr uint64_t kBias = (uint64_t{1} << (exponent_bits - 1)) - 1;
      const double kScale = bits_to_double((2046 - kBias) << 52);
      const uint64_t moved = static_cast<uint64_t>(magnitude(bits)) << (52 - mantissa_bits);
      const double value = bits_to_double(moved) * kScale;
      return is_negative(bits) ? -value : value;
    }
  }

  static double value(Word bits) {
    if (is_finite(bits)) return finite_value(bits);
    if (is_nan(bits)) return bits_to_double(0x7ff8'0000'0000'0000);
    return bits_to_double(is_negative(bits) ? 0xfff0'0000'0000'0000 : 0x7ff0'0000'0000'0000);
  }

  // Steps from one element to the other in sign-magnitude order; cannot overflow.
  static constexpr Word ulp_distance(Word a, Word b) {
    const Word x = magnitude(a);
    const Word y = magnitude(b);
    if (is_negative(a) != is_negative(b)) return static_cast<Word>(x + y);
    return static_cast<Word>(x > y ? x - y : y - x);
  }
};

using Fp64 = FloatFormat<uint64_t, 11, 52, true>;
using Fp32 = FloatFormat<uint32_t, 8, 23, true>;
using Bf16 = FloatFormat<uint16_t, 8, 7, true>;
using Fp16 = FloatFormat<uint16_t, 5, 10, true>;
using Fp8E4m3fn = FloatFormat<uint8_t, 4, 3, false>;
using Fp8E5m2 = FloatFormat<uint8_t, 5, 2, true>;

}  // namespace reprobench
