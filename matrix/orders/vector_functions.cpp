#include "matrix/orders/vector_functions.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace reprobench {
namespace {

constexpr int kSignificandBits = 23;
constexpr int kBias = 127;

float power_of_two(int exponent) { return std::bit_cast<float>((exponent + kBias) << kSignificandBits); }

// Two powers, so that neither of them leaves the range.
float scaled(float x, int exponent) {
  const int half = exponent >> 1;
  return x * power_of_two(half) * power_of_two(exponent - half);
}

// Of falling degree, each step fused.
template <std::size_t N>
float polynomial(const std::array<float, N>& coefficients, float x) {
  float value = coefficients[0];
  for (std::size_t i = 1; i < N; ++i) value = std::fma(value, x, coefficients[i]);
  return value;
}

// A number as the sum of two.
struct Pair {
  float high = 0;
  float low = 0;
};

Pair sum_of(float x, float y) {
  const float sum = x + y;
  const float of_y = sum - x;
  return {sum, (x - (sum - of_y)) + (y - of_y)};
}

Pair quotient(Pair n, Pair d) {
  const float inverse = 1.0F / d.high;
  const float high = n.high * inverse;
  const float lost = std::fma(inverse, n.high, -high);
  const float error = std::fma(-d.low, inverse, std::fma(-d.high, inverse, 1.0F));
  return {high, std::fma(high, error, std::fma(n.low, inverse, lost))};
}

// Another release of the C library may round otherwise.
std::string c_library_name() {
#if defined(__GLIBC__)
  return std::string("libm-") + gnu_get_libc_version();
#else
  return "libm-0";
#endif
}

}  // namespace

float sleef_exp(float x) {
  constexpr float kInverseLn2 = 1.442695040888963407359924681001892137426645954152985934135449406931F;
  constexpr float kLn2High = 0.693145751953125F;
  constexpr float kLn2Low = 1.428606765330187045e-06F;
  constexpr std::array<float, 6> kSeries = {0.000198527617612853646278381F, 0.00139304355252534151077271F,
                                            0.00833336077630519866943359F,  0.0416664853692054748535156F,
                                            0.166666671633720397949219F,    0.5F};
  if (std::isnan(x)) return x;
  if (x < -104) return 0;
  if (x > 100) return std::bit_cast<float>(0x7F800000);
  const float q = std::nearbyint(x * kInverseLn2);
  const float r = std::fma(q, -kLn2Low, std::fma(q, -kLn2High, x));
  return scaled(1.0F + std::fma(r * r, polynomial(kSeries, r), r), static_cast<int>(q));
}

float sleef_log(float x) {
  constexpr Pair kLn2 = {0.69314718246459960938F, -1.904654323148236017e-09F};
  constexpr std::array<float, 3> kSeries = {0.3027294874F, 0.3996108174F, 0.6666694880F};
  if (!(x > 0) || std::isinf(x)) return std::log(x);
  const int exponent = std::ilogb(x * (1.0F / 0.75F));
  const float m = std::ldexp(x, -exponent);
  const auto e = static_cast<float>(exponent);
  const float high = kLn2.high * e;
  const Pair power = {high, std::fma(kLn2.low, e, std::fma(kLn2.high, e, -high))};
  const Pair ratio = quotient(sum_of(-1.0F, m), sum_of(1.0F, m));
  const float square = ratio.high * ratio.high;
  const Pair twice = {2 * ratio.high, 2 * ratio.low};
  const float first = power.high + twice.high;
  const float first_low = ((power.high - first) + twice.high + power.low) + twice.low;
  const float rest = square * ratio.high * polynomial(kSeries, square);
  const float second = first + rest;
  const float second_low = (first - second) + rest + first_low;
  return second + second_low;
}

float short_exp(float x) {
  constexpr std::array<float, 6> kSeries = {0.00828929059F, 0.0418978221F, 0.166676521F, 0.499991506F, 0.999999701F, 1};
  constexpr float kLog2E = std::bit_cast<float>(0x3FB8AA3B);
  constexpr float kLn2 = std::bit_cast<float>(0x3F317218);
  constexpr float kLeast = std::bit_cast<float>(0xC2AEAC50);
  constexpr float kMost = std::bit_cast<float>(0x42B17218);
  if (std::isnan(x)) return x;
  const float within = std::max(std::min(x, kMost), kLeast);
  const float n = std::floor(std::fma(within, kLog2E, 0.5F));
  const float value = polynomial(kSeries, std::fma(-n, kLn2, within));
  return x < kLeast ? 0 : value * power_of_two(static_cast<int>(n) - 1) * 2.0F;
}

float exponential(Functions functions, float x) {
  if (functions == Functions::c_library) return std::exp(x);
  return functions == Functions::sleef ? sleef_exp(x) : short_exp(x);
}

float logarithm(Functions functions, float x) { return functions == Functions::c_library ? std::log(x) : sleef_log(x); }

std::string functions_text(Functions functions) {
  if (functions == Functions::c_library) return c_library_name();
  return functions == Functions::sleef ? "sleef" : "short";
}

std::string functions_shape(Functions functions) {
  if (functions == Functions::c_library) return "exponentials of " + c_library_name();
  return functions == Functions::sleef ? "Sleef's exponentials" : "short exponentials";
}

}  // namespace reprobench
