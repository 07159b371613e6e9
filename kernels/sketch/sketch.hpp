// A sketch of a tensor: enough to tell two tensors' distance apart from logs alone.
//
// Beside counts, range, sum and norm it keeps 64 signed strided sums s_j = sum over i = j (mod 64) of sign(i) * x_i,
// with pseudo-random signs. The L2 norm of s(a) - s(b) estimates |a - b| with a standard deviation of about 1/sqrt(2 *
// 64), 9 % (a count sketch; Charikar, Chen, Farach-Colton 2002). All sums are fp64 in one fixed order
// (sketch_kernels.hpp), so equal tensors give equal bits, on a CPU and on a GPU. NaN and infinite elements are counted
// and left out of everything else.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace reprobench {

inline constexpr std::size_t kSketchSums = 64;

struct Sketch {
  std::int64_t count = 0;
  std::int64_t nan_count = 0;
  std::int64_t inf_count = 0;
  double min = 0;  // NaN if no element is finite
  double max = 0;
  double sum = 0;
  double l2 = 0;
  std::array<double, kSketchSums> signed_sums{};
};

struct Bfloat16 {
  std::uint16_t bits;
};

// The sketch of the elements in logical row-major order.
Sketch sketch(std::span<const float> values);
Sketch sketch(std::span<const double> values);
Sketch sketch(std::span<const Bfloat16> values);
Sketch sketch(std::span<const std::int64_t> values);

// The sketch of a tensor of `count` zeros with ones at `positions`, which are ascending.
Sketch sketch_of_ones(std::int64_t count, std::span<const std::int64_t> positions);

// The sketch of `count` elements from the total of their segments (sketch_kernels.hpp).
struct SketchPart;
Sketch finish_sketch(const SketchPart& total, std::int64_t count);

// Estimate of the L2 norm of a - b, from the sketches of a and b.
double estimated_distance(const Sketch& a, const Sketch& b);

}  // namespace reprobench
