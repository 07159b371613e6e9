#include "kernels/reduce/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reduce/reduce_kernels.hpp"

namespace reprobench {
namespace {

// Lanes are independent, so compilers may use vectors of any width without changing a bit.
[[gnu::always_inline]] inline float sum_of_lanes(const float* values, std::size_t count) {
  float lanes[kReduceLanes] = {};
  const std::size_t whole = count / kReduceLanes * kReduceLanes;
  for (std::size_t row = 0; row < whole; row += kReduceLanes) {
    for (std::size_t j = 0; j < kReduceLanes; ++j) lanes[j] += values[row + j];
  }
  for (std::size_t j = 0; whole + j < count; ++j) lanes[j] += values[whole + j];
  for (std::size_t width = kReduceLanes / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) lanes[j] = lanes[2 * j] + lanes[2 * j + 1];
  }
  return lanes[0];
}

[[gnu::optimize("O3")]] float chunk_sum_baseline(const float* values, std::size_t count) {
  return sum_of_lanes(values, count);
}

#ifdef __x86_64__
[[gnu::optimize("O3"), gnu::target("avx2")]] float chunk_sum_avx2(const float* values, std::size_t count) {
  return sum_of_lanes(values, count);
}
#endif

float chunk_sum(const float* values, std::size_t count) {
#ifdef __x86_64__
  static const bool kAvx2 = __builtin_cpu_supports("avx2");
  if (kAvx2) return chunk_sum_avx2(values, count);
#endif
  return chunk_sum_baseline(values, count);
}

}  // namespace

float fixed_order_sum(std::span<const float> values) {
  if (values.size() <= kReduceChunk) {
    const float sum = chunk_sum(values.data(), values.size());
    return std::isnan(sum) ? std::numeric_limits<float>::quiet_NaN() : sum;
  }
  std::vector<float> sums;
  sums.reserve((values.size() + kReduceChunk - 1) / kReduceChunk);
  for (std::size_t at = 0; at < values.size(); at += kReduceChunk) {
    sums.push_back(chunk_sum(values.data() + at, std::min<std::size_t>(kReduceChunk, values.size() - at)));
  }
  return fixed_order_sum(sums);
}

}  // namespace reprobench
