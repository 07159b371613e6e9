// Compiled with -O3 and without errno of square roots (CMakeLists.txt), so that the loops become vector code.
#include "suites/worker/state/element_update.hpp"

#include <cmath>
#include <cstdlib>

namespace reprobench {
namespace {

template <class T, bool kDecays, bool kIsWeightSmall>
[[gnu::always_inline]] inline void adam_loop(const AdamNumbers& numbers, const Elements<T>& elements) {
  T* __restrict parameter = elements.parameter;
  const T* __restrict gradient = elements.gradient;
  T* __restrict exp_avg = elements.kept[0];
  T* __restrict exp_avg_square = elements.kept[1];
  const T first_weight = static_cast<T>(1 - numbers.beta1);
  const T beta2 = static_cast<T>(numbers.beta2);
  const T second_weight = static_cast<T>(1 - numbers.beta2);
  const T epsilon = static_cast<T>(numbers.epsilon);
  const T factor = static_cast<T>(-numbers.step_size);
  const T remaining = static_cast<T>(numbers.remaining);
  for (std::int64_t i = 0; i < elements.count; ++i) {
    const T g = gradient[i];
    const T difference = g - exp_avg[i];
    // lerp goes from the nearer end.
    const T average =
        kIsWeightSmall ? std::fma(first_weight, difference, exp_avg[i]) : std::fma(first_weight - 1, difference, g);
    const T square = std::fma(second_weight * g, g, exp_avg_square[i] * beta2);
    const T kept_of_weight = kDecays ? parameter[i] * remaining : parameter[i];
    exp_avg[i] = average;
    exp_avg_square[i] = square;
    parameter[i] = kept_of_weight + factor * average / (std::sqrt(square) + epsilon);
  }
}

template <class T>
[[gnu::always_inline]] inline void adam(const AdamNumbers& numbers, const Elements<T>& elements) {
  const bool is_small = std::abs(static_cast<T>(1 - numbers.beta1)) < T{0.5};
  if (elements.decay) {
    is_small ? adam_loop<T, true, true>(numbers, elements) : adam_loop<T, true, false>(numbers, elements);
  } else {
    is_small ? adam_loop<T, false, true>(numbers, elements) : adam_loop<T, false, false>(numbers, elements);
  }
}

template <class T, bool kDecays, bool kHasMomentum>
[[gnu::always_inline]] inline void sgd_loop(const SgdNumbers& numbers, const Elements<T>& elements) {
  T* __restrict parameter = elements.parameter;
  const T* __restrict gradient = elements.gradient;
  T* __restrict momentum_buffer = elements.kept[0];
  const T momentum = static_cast<T>(numbers.momentum);
  const T weight_decay = static_cast<T>(numbers.weight_decay);
  const T factor = static_cast<T>(-numbers.learning_rate);
  for (std::int64_t i = 0; i < elements.count; ++i) {
    T direction = kDecays ? std::fma(parameter[i], weight_decay, gradient[i]) : gradient[i];
    if (kHasMomentum) {
      direction = momentum_buffer[i] * momentum + direction;
      momentum_buffer[i] = direction;
    }
    parameter[i] = std::fma(direction, factor, parameter[i]);
  }
}

template <class T>
[[gnu::always_inline]] inline void sgd(const SgdNumbers& numbers, const Elements<T>& elements) {
  const bool has_momentum = elements.kept[0] != nullptr;
  if (elements.decay) {
    has_momentum ? sgd_loop<T, true, true>(numbers, elements) : sgd_loop<T, true, false>(numbers, elements);
  } else {
    has_momentum ? sgd_loop<T, false, true>(numbers, elements) : sgd_loop<T, false, false>(numbers, elements);
  }
}

#ifdef __x86_64__
// The worker itself is compiled for every x86-64 CPU.
#define REPROBENCH_WIDE [[gnu::target("avx2,fma")]]
bool is_cpu_wide() {
  static const bool kIsWide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return kIsWide;
}
#else
#define REPROBENCH_WIDE
bool is_cpu_wide() { return false; }
#endif

REPROBENCH_WIDE void adam_wide(const AdamNumbers& numbers, const Elements<float>& elements) { adam(numbers, elements); }
REPROBENCH_WIDE void adam_wide(const AdamNumbers& numbers, const Elements<double>& elements) {
  adam(numbers, elements);
}
REPROBENCH_WIDE void sgd_wide(const SgdNumbers& numbers, const Elements<float>& elements) { sgd(numbers, elements); }
REPROBENCH_WIDE void sgd_wide(const SgdNumbers& numbers, const Elements<double>& elements) { sgd(numbers, elements); }
#undef REPROBENCH_WIDE

}  // namespace

void update_adam(const AdamNumbers& numbers, const Elements<float>& elements) {
  is_cpu_wide() ? adam_wide(numbers, elements) : adam(numbers, elements);
}
void update_adam(const AdamNumbers& numbers, const Elements<double>& elements) {
  is_cpu_wide() ? adam_wide(numbers, elements) : adam(numbers, elements);
}
void update_sgd(const SgdNumbers& numbers, const Elements<float>& elements) {
  is_cpu_wide() ? sgd_wide(numbers, elements) : sgd(numbers, elements);
}
void update_sgd(const SgdNumbers& numbers, const Elements<double>& elements) {
  is_cpu_wide() ? sgd_wide(numbers, elements) : sgd(numbers, elements);
}

}  // namespace reprobench
