// Exponentials and logarithms to the bit, as ATen's vector code computes them: a short polynomial in fp32, each step of
// which is a fused multiply-add. They are the same in 8 and in 16 lanes. Coefficients and steps are those of SLEEF 3
// (Boost Software License 1.0, sleef.org) and of ATen (BSD 3-clause, pytorch.org): with others the bits would differ.
#pragma once

#include <string>

namespace reprobench {

// Sleef's exponential of 1 unit in the last place, of x <= 0 above all: Sleef_expf8_u10, Sleef_expf16_u10.
float sleef_exp(float x);
// Sleef's logarithm of 1 unit in the last place, of a positive normal number.
float sleef_log(float x);
// ATen's own exponential of 20 units, `exp_u20`.
float short_exp(float x);

// Whose exponential and logarithm: Sleef's vector code, ATen's own short exponential with Sleef's logarithm, or those
// of the C library, whose release is part of the name.
enum class Functions { sleef, short_series, c_library };
inline constexpr Functions kFunctions[] = {Functions::sleef, Functions::short_series, Functions::c_library};

float exponential(Functions functions, float x);
float logarithm(Functions functions, float x);
std::string functions_text(Functions functions);   // "sleef", "short", "libm-2.36"
std::string functions_shape(Functions functions);  // for people: "Sleef's exponentials"

}  // namespace reprobench
