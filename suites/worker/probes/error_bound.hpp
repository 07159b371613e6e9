// The largest distance of a correct product to fp64, as relative L2 distances.
//
// u_p is half a unit in the last place of 1 at precision p. A product that adds K terms serially in fp32 is off by
// about 0.30 sqrt(K) 2^-24, and one that adds them in blocks by less. So sqrt(K) 2^-24 holds for every order of
// summation and fails for a lost term or a shorter accumulator. In a reduced precision the rounding of the operands
// outweighs it. It costs 0.42 u_p for each operand and the result: 2.9e-4 for TF32, 3.6e-4 for fp16, 2.9e-3 for bf16,
// 3.7e-2 for E4M3. The bounds are about twice that or more.
#pragma once

#include <cstdint>
#include <string_view>

namespace reprobench {

// The bound for a product over `depth` terms whose operands were rounded to `dtype`: "fp64", "fp32", "tf32", "bf16",
// "fp16", "fp8". Throws std::invalid_argument for another word.
double product_error_bound_rel(std::string_view dtype, std::int64_t depth);

// The bound for a convolution with 3 x 3 filters that a library did by `algorithm` (library_algorithm.hpp). Direct sums
// are a product over 9 terms a channel. In fp32 Winograd's are not: F(m x m, 3 x 3) adds up one product a channel at
// each point of a transformed tile, and its output transform enlarges their errors. With transforms A, B and G the
// error of random data grows by the gain
//   mean over o of sum over i of A[o,i]^2 |B[i]|^2 |G[i]|^2 / 3,
// 1.67 for m = 2, 10.8 for m = 4 and 20.6 for m = 6. So the error is about 0.30 gain sqrt(channels) 2^-24, for F(4 x 4)
// 3.6 times that of direct sums, and the transforms' own roundings add about gain 2^-24. The bound is some three times
// both, gain (sqrt(channels) + 3) 2^-24; convolution_bound_test.cpp emulates all three. cuDNN's tiles for 3 x 3 filters
// are up to 4 x 4, NNPACK's 6 x 6. Any algorithm that is not known to be one of these has the bound of the largest
// tiles, which is a tenth of TF32's error at 256 channels. Other types than fp32 keep the bound of direct sums.
double convolution_error_bound_rel(std::string_view dtype, std::int64_t channels, std::string_view algorithm);

// The bound for attention: two products one after the other, over the width of a head and over the keys, whose errors
// add up. Between them is a softmax, where the absolute error of a logit becomes the relative error of a weight. With
// operands of variance 1 logits are of order 1, so it adds no factor.
double attention_error_bound_rel(std::string_view dtype, std::int64_t head_width, std::int64_t keys);

// The bound for a forward pass whose eager twin is off by `eager_error_rel`, and whose result has `count` elements. It
// is the rule of class B2 in fp32 (matrix/stats/error_budget.cpp): twice eager's error or 1e-6, and three times for
// fewer than 1000 elements.
double forward_error_bound_rel(double eager_error_rel, std::int64_t count);

}  // namespace reprobench
