// Attention as calls of their own, one behind the other: at::_scaled_dot_product_attention_math, which releases take
// where they have no kernel for it.
//
//   weights = softmax((r q) . (r k))      y = weights . v      r: the root of the scale
//
// All are batched products of the BLAS library, and softmax and its gradient are ATen's (row_softmax.hpp). A head of
// keys that several heads of queries share is copied for each, and the copies' gradients are added in their order.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/orders/chain_sum.hpp"
#include "matrix/orders/head_attention.hpp"
#include "matrix/orders/row_softmax.hpp"

namespace reprobench {

struct StepsForm {
  ChainForm scores;
  SoftmaxForm softmax;
  ChainForm values;

  friend bool operator==(const StepsForm&, const StepsForm&) = default;
};

// From dy to the gradient of a score.
struct StepsGradientForm {
  ChainForm weights;  // dy . v
  SoftmaxGradientForm softmax;
  ChainForm products;  // the sum over keys

  friend bool operator==(const StepsGradientForm&, const StepsGradientForm&) = default;
};

// Of a query: as many weights as there are keys, and 0 behind those that it sees.
void weights_in_steps(const AttentionHead& head, std::size_t query, const StepsForm& form, std::span<float> weights);
void attend_in_steps(const AttentionHead& head, std::span<const float> weights, const StepsForm& form,
                     std::span<float> y);

// `weights` and `scores`: of one query, the latter are gradients.
void score_gradients_in_steps(const AttentionHead& head, std::span<const float> dy, std::span<const float> weights,
                              const StepsGradientForm& form, std::span<float> scores);
void query_gradient_in_steps(const AttentionHead& head, std::span<const float> scores, const StepsGradientForm& form,
                             std::span<float> dq);

// Adds what one head of queries gives to the gradient of a key or value: the sum over queries of a factor from each
// row of `factors` (queries, keys), times a row of `tensor` (queries, width).
struct SharedGradient {
  std::span<const float> factors;
  std::span<const float> tensor;
  float scale_of_tensor = 1;
  float scale_of_sum = 1;
};
void add_share_in_steps(const AttentionHead& head, std::size_t key, const SharedGradient& share, const ChainForm& form,
                        std::span<float> gradient);

// All that is known to be used, in the same order on every stack.
std::vector<StepsForm> steps_forms(const AttentionHead& head);
std::vector<StepsGradientForm> steps_gradient_forms(const AttentionHead& head);
std::vector<ChainForm> share_forms(const AttentionHead& head);

//   attention in steps scores=f0 softmax exp=sleef lanes=16 times values=f0
//   dattention in steps weights=f0 dsoftmax lanes=16 sums=ff products=f0
//   dattention in steps products=f0
std::string steps_text(const StepsForm& form);
std::string steps_text(const StepsGradientForm& form);
std::string share_text(const ChainForm& form);
std::string steps_shape(const StepsForm& form);
std::string steps_shape(const StepsGradientForm& form);
std::string share_shape(const ChainForm& form);

// Whether a text is one of an output or a gradient, which stands behind that of what it begins with.
bool is_steps_text(std::string_view text);

}  // namespace reprobench
