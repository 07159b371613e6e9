// Exponentials and logarithms to the bit, as ATen's vector code computes them: a short polynomial in fp32, each step of
// which is a fused multiply-add. They are the same in 8 and in 16 lanes. Coefficients and steps are those of SLEEF 3
// (Boost Software License 1.0, sleef.org) and of ATen (BSD 3-clause, pytorch.org): with others the bits would differ.
#pragma once

namespace reprobench {

// Sleef's exponential of 1 unit in the last place, of x <= 0 above all: Sleef_expf8_u10, Sleef_expf16_u10.
float sleef_exp(float x);
// Sleef's logarithm of 1 unit in the last place, of a positive normal number.
float sleef_log(float x);
// ATen's own exponential of 20 units, `exp_u20`.
float short_exp(float x);

}  // namespace reprobench
