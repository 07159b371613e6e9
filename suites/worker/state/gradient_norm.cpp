#include "suites/worker/state/gradient_norm.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <c10/core/GradMode.h>

#include "suites/worker/ranks/partition.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {
namespace {

// Whole rows apart from the last one, so that the lanes become vector code. No lane meets another before the end, so
// vectors of any width give the same bits.
template <class T>
[[gnu::always_inline]] inline double sum_of_lanes(const T* values, std::size_t count) {
  constexpr std::size_t kLanes = 16;
  double lanes[kLanes] = {};
  const auto add = [&](std::size_t j, T value) {
    const auto x = static_cast<double>(value);
    lanes[j] += x * x;
  };
  std::size_t row = 0;
  for (; row + kLanes <= count; row += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) add(j, values[row + j]);
  }
  for (std::size_t j = 0; row + j < count; ++j) add(j, values[row + j]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <class T>
[[gnu::optimize("O3")]] double squares_baseline(const T* values, std::size_t count) {
  return sum_of_lanes(values, count);
}

#ifdef __x86_64__
// Without FMA, which would not round the squares.
template <class T>
[[gnu::optimize("O3"), gnu::target("avx2,no-fma")]] double squares_avx2(const T* values, std::size_t count) {
  return sum_of_lanes(values, count);
}
#endif

template <class T>
double squares_of(const T* values, std::size_t count) {
#ifdef __x86_64__
  static const bool kAvx2 = __builtin_cpu_supports("avx2");
  if (kAvx2) return squares_avx2(values, count);
#endif
  return squares_baseline(values, count);
}

template <class T>
std::vector<double> squares_by_block(const at::Tensor& tensor) {
  const T* values = static_cast<const T*>(tensor.data_ptr());
  const std::int64_t count = tensor.numel();
  std::vector<double> sums;
  sums.reserve(static_cast<std::size_t>(count / kBlockElements + 1));
  for (std::int64_t first = 0; first < count; first += kBlockElements) {
    sums.push_back(squares_of(values + first, static_cast<std::size_t>(std::min(kBlockElements, count - first))));
  }
  return sums;
}

}  // namespace

std::vector<double> block_squares(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.cpu().contiguous();  // shards of gradients lie on the device of their rank
  return dense.scalar_type() == at::kDouble ? squares_by_block<double>(dense) : squares_by_block<float>(dense);
}

double gradient_norm(const TrainState& state) {
  double sum = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const at::Tensor& gradient = state.gradient(i);
    if (!gradient.defined()) continue;
    if (gradient.device().is_cpu()) {
      for (const double block : block_squares(gradient)) sum += block;
    } else {
      const double norm = at::linalg_vector_norm(gradient, 2, {}, false, at::kDouble).item().toDouble();
      sum += norm * norm;
    }
  }
  return std::sqrt(sum);
}

bool clip_gradients(TrainState& state, double norm, double max_norm) {
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return false;
  state.scale_gradients_anew(factor);
  return true;
}

}  // namespace reprobench
