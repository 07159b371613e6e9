// A softmax over rows and its gradient, rounding by rounding.
//
// ATen takes the largest number of a row away, adds the exponentials in the lanes of a vector, and divides or takes the
// logarithm (ATen/native/cpu/SoftMaxKernel.cpp). The largest one is the same in every order.
//
//   softmax exp=sleef lanes=16 times              e^(x - largest) (1 / sum)
//   log_softmax exp=sleef lanes=8 apart           (x - largest) - log(sum)
//   dsoftmax lanes=16 sums=rf                     (dy - sum of dy y) y
//   dlog_softmax exp=sleef lanes=16 element=f     dy - e^y (sum of dy), the last product fused
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matrix/orders/lane_sum.hpp"
#include "matrix/orders/vector_functions.hpp"

namespace reprobench {

struct SoftmaxForm {
  bool is_log = false;
  Functions functions = Functions::sleef;
  LaneForm lanes;        // without products
  bool is_late = false;  // divided by the sum; of a log softmax: x - (largest + log(sum))

  friend bool operator==(const SoftmaxForm&, const SoftmaxForm&) = default;
};

struct SoftmaxGradientForm {
  bool is_log = false;
  Functions functions = Functions::sleef;  // of a log softmax
  LaneForm lanes;
  bool element_fused = false;  // of a log softmax

  friend bool operator==(const SoftmaxGradientForm&, const SoftmaxGradientForm&) = default;
};

// The exponentials of a row go into `y`; their sum is the one that has an order.
struct SoftmaxSum {
  float largest = 0;
  float sum = 0;
};
float exponentials_of(std::span<const float> x, const SoftmaxForm& form, std::span<float> y);  // returns the largest x
void divide_by(const SoftmaxSum& of, std::span<const float> x, const SoftmaxForm& form, std::span<float> y);

void softmax_row(std::span<const float> x, const SoftmaxForm& form, std::span<float> y);

float gradient_sum(std::span<const float> dy, std::span<const float> y, const SoftmaxGradientForm& form);
void gradient_from(float sum, std::span<const float> dy, std::span<const float> y, const SoftmaxGradientForm& form,
                   std::span<float> dx);

void softmax_gradient(std::span<const float> dy, std::span<const float> y, const SoftmaxGradientForm& form,
                      std::span<float> dx);

std::string softmax_text(const SoftmaxForm& form);
std::string softmax_text(const SoftmaxGradientForm& form);
std::string softmax_shape(const SoftmaxForm& form);
std::string softmax_shape(const SoftmaxGradientForm& form);

std::vector<SoftmaxForm> softmax_forms(bool is_log);
std::vector<SoftmaxGradientForm> softmax_gradient_forms(bool is_log);

}  // namespace reprobench
