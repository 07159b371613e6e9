// The update rules of optimizer.cpp as one loop over plain memory. For each element, everything that a step reads is
// read once and everything it writes is written once. ATen's operators would each go over the whole tensor.
//
// The arithmetic of an element is that of those operators, in their order. It has one rounding exactly where ATen's
// vector kernels have a fused multiply-add: lerp, addcmul and add with a factor. Every step of it is rounded correctly,
// so the bits are the same on every CPU and under every stack. They are ATen's own where its kernels fuse (AVX2 and
// up), with one exception. Where LibTorch contains MKL, at::sqrt is MKL's: one root in five is off by the last bit in
// fp32, and one in seventy in fp64. There SGD and both moments of Adam have ATen's bits and Adam's parameters do not.
#pragma once

#include <cstdint>

namespace reprobench {

// Elements that lie one after the other at each of these addresses; T is float or double. The memory does not overlap.
template <class T>
struct Elements {
  T* parameter = nullptr;
  const T* gradient = nullptr;
  T* kept[2] = {nullptr, nullptr};  // optimizer's state, in the order of Optimizer::keeps(); null: it keeps less
  std::int64_t count = 0;
  bool decay = false;
};

struct AdamNumbers {
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;  // with the step's bias correction, like step_size
  double step_size = 0;
  double remaining = 1;  // factor of a weight that decays
};

struct SgdNumbers {
  double learning_rate = 0;
  double momentum = 0;
  double weight_decay = 0;
};

void update_adam(const AdamNumbers& numbers, const Elements<float>& elements);
void update_adam(const AdamNumbers& numbers, const Elements<double>& elements);
void update_sgd(const SgdNumbers& numbers, const Elements<float>& elements);
void update_sgd(const SgdNumbers& numbers, const Elements<double>& elements);

}  // namespace reprobench
