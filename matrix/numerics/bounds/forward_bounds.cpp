#include <algorithm>
#include <cmath>

#include "matrix/numerics/bounds/operator_bounds.hpp"

namespace reprobench {
namespace {

constexpr double kUnitTf32 = 0x1p-11;

Doubles function(const CapturedCall& captured) { return times_result(captured, 2 * kFunctionUlps); }
// exp, one added, divided, and for silu multiplied.
Doubles sigmoid(const CapturedCall& captured) { return times_result(captured, 2 * kFunctionUlps + 4); }

// Two operands, one of them scaled: in 16 bits its product may be stored before it is added.
Doubles addition(const CapturedCall& captured) {
  const bool is_scaled = captured.stored_roundoff > kRoundoff && captured.call.constants != "1";
  return of_magnitude(captured, 2, is_scaled ? captured.stored_roundoff : 0);
}

std::size_t left_factor(const std::string& name) {
  return name.find("add") != std::string::npos ? 1 : 0;  // addmm(addend, left, right)
}

// The bound of a scaled sum of K terms with an addend.
Doubles product(const CapturedCall& captured) {
  const auto terms = captured.input_extent(left_factor(captured.call.name), 1);
  if (terms == 0) return {};
  const double of_inputs = captured.settings.rounds_inputs_to_tf32 ? 2.5 * kUnitTf32 : 0;
  return of_magnitude(captured, static_cast<double>(terms) + 2, of_inputs);
}

Doubles sum(const CapturedCall& captured) {
  const TensorView* input = captured.tensor("input", 0);
  if (input == nullptr || captured.exact.empty()) return {};
  const auto terms = element_count(*input) / static_cast<std::int64_t>(captured.exact.size());
  return of_magnitude(captured, static_cast<double>(terms) + 1, 0);
}

// x / 2 (1 + f(t)): t is off by 6 roundings, and t f'(t) stays below 0.49 for erf and tanh alike; f itself by its
// documented error, and the sum of 1 and f may cancel.
Doubles gelu(const CapturedCall& captured) {
  const Doubles x = captured.values("input", 0);
  if (x.size() != captured.exact.size()) return {};
  Doubles bound = times_result(captured, 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    bound[i] += 0.5 * std::abs(x[i]) * (6 * 0.49 + 2 * kFunctionUlps) * kRoundoff;
  }
  return bound;
}

// y = exp(x - max) / sum: the difference is rounded once, and is at most -ln y; in the sum it weighs ln K at most.
Doubles softmax(const CapturedCall& captured) {
  const auto terms = static_cast<double>(lines_of(captured).length);
  if (terms == 0) return {};
  Doubles bound;
  for (const double y : captured.exact) {
    const double argument = y > 0 ? std::log(terms) - std::log(y) : 0;
    bound.push_back(y * (kRoundoff * (argument + 4 * kFunctionUlps + 2) + gamma_n(terms)));
  }
  return bound;
}

// x - max - ln(sum).
Doubles log_softmax(const CapturedCall& captured) {
  const auto terms = static_cast<double>(lines_of(captured).length);
  if (terms == 0) return {};
  const double of_sum = std::log(terms) + gamma_n(terms) / kRoundoff + 2 * kFunctionUlps * (1 + std::log(terms));
  Doubles bound;
  for (const double y : captured.exact) {
    bound.push_back(kRoundoff * (2 * (std::abs(y) + std::log(terms)) + of_sum + std::abs(y)));
  }
  return bound;
}

struct RowSums {
  double mean_size = 0;    // of |x|
  double mean_square = 0;  // of x^2
};

RowSums row_sums(const Doubles& x, std::size_t row, std::size_t width) {
  RowSums sums;
  for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
    sums.mean_size += std::abs(x[i]) / static_cast<double>(width);
    sums.mean_square += x[i] * x[i] / static_cast<double>(width);
  }
  return sums;
}

// native_layer_norm(x, shape, weight, bias, eps) -> y, mean, 1/sigma. The mean is a sum; the variance is taken for the
// difference of two means, the worst way to compute it: 3 gamma of the mean square; y = ((x - mean) / sigma) w + b.
Doubles layer_norm(const CapturedCall& captured) {
  const Doubles x = captured.values("input", 0);
  const Doubles means = captured.values("fp64", 1);
  const Doubles inverse = captured.values("fp64", 2);
  const Doubles weight = captured.values("input", 1);
  if (means.empty() || inverse.size() != means.size() || x.size() % means.size() != 0) return {};
  const std::size_t width = x.size() / means.size();
  if (captured.output == 0 && weight.size() != width) return {};
  Doubles bound;
  for (std::size_t row = 0; row < means.size(); ++row) {
    const RowSums sums = row_sums(x, row, width);
    const double of_mean = gamma_n(static_cast<double>(width)) * sums.mean_size;
    const double of_inverse =
        1.5 * inverse[row] * inverse[row] * gamma_n(static_cast<double>(width) + 2) * sums.mean_square +
        2 * kFunctionUlps * kRoundoff;  // relative
    if (captured.output == 1) bound.push_back(of_mean + kRoundoff * std::abs(means[row]));
    if (captured.output == 2) bound.push_back(of_inverse * std::abs(inverse[row]));
    if (captured.output != 0) continue;
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      const double centred = std::abs(x[i] - means[row]);
      const double inner =
          3 * kRoundoff * (std::abs(x[i]) + std::abs(means[row])) + of_mean + centred * (of_inverse + kRoundoff);
      bound.push_back(std::abs(weight[i % width]) * inverse[row] * inner + kRoundoff * std::abs(captured.exact[i]));
    }
  }
  return bound;
}

// A difference of two numbers is rounded once; a scaled operand once more, of its own size, which is not on record.
Doubles subtraction(const CapturedCall& captured) {
  return captured.call.constants == "1" ? two_roundings(captured) : Doubles{};
}

// The addend of the first operand, as far as fp64 shows it: a factor, a product and a quotient, each rounded once, the
// factor's own rounding, and then the sum.
Doubles sum_with_product(const CapturedCall& captured) {
  const Doubles first = captured.values("input", 0);
  if (first.size() != captured.exact.size()) return {};
  Doubles bound = times_result(captured, 1);
  for (std::size_t i = 0; i < first.size(); ++i) bound[i] += gamma_n(5) * std::abs(captured.exact[i] - first[i]);
  return bound;
}

// a + w (b - a), or from the other end, b - (1 - w) (b - a): whichever is longer bounds both.
Doubles interpolation(const CapturedCall& captured) {
  const Doubles from = captured.values("input", 0);
  const Doubles to = captured.values("input", 1);
  if (from.size() != captured.exact.size() || to.size() != captured.exact.size()) return {};
  Doubles bound = times_result(captured, 1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double longer = std::max(std::abs(captured.exact[i] - from[i]), std::abs(captured.exact[i] - to[i]));
    bound[i] += gamma_n(4) * longer;
  }
  return bound;
}

// The bound of a sum over the pixels and channels under the kernel, added one by one. It does not hold if a library
// transforms them (Winograd, FFT).
Doubles convolution(const CapturedCall& captured) {
  const TensorView* weight = captured.tensor("input", 1);
  if (captured.settings.may_transform_convolutions || weight == nullptr || captured.input_extent(1, 1) == 0) return {};
  if (captured.call.constants.find("], true, [") != std::string::npos) return {};  // transposed
  return of_magnitude(captured, static_cast<double>(element_count(*weight) / weight->shape.front()) + 2, 0);
}

// The mean of numbers that all have one sign, as logarithms of probabilities have: their sizes add up to the result's.
Doubles negative_log_likelihood(const CapturedCall& captured) {
  const Doubles logarithms = captured.values("input", 0);
  const auto samples = captured.input_extent(0, 2);
  if (captured.output != 0 || captured.exact.size() != 1 || samples == 0 || captured.input_extent(0, 3) != 0) return {};
  if (std::any_of(logarithms.begin(), logarithms.end(), [](double value) { return value > 0; })) return {};
  return times_result(captured, static_cast<double>(samples) + 2);
}

}  // namespace

const std::vector<BoundRow>& forward_bounds() {
  // clang-format off
  static const std::vector<BoundRow> kRows = {
      {{"relu", "neg", "abs", "clone", "contiguous", "embedding", "index_select", "cat", "max_pool2d_with_indices",
        "maximum", "minimum", "stack"}, &no_rounding,
       "nothing is rounded", kMovesNumbers},
      {{"mul", "div", "sqrt", "reciprocal", "masked_fill", "clamp", "clamp_min", "clamp_max", "where"}, &two_roundings,
       "IEEE 754: correctly rounded, a scalar factor as well", kElementwise},
      {{"add"}, &addition, "IEEE 754: correctly rounded, a scaled operand as well", kElementwise},
      {{"sub"}, &subtraction, "IEEE 754: correctly rounded", kElementwise},
      {{"addcmul", "addcdiv"}, &sum_with_product, "IEEE 754: correctly rounded, gamma_5 of what is added"},
      {{"lerp"}, &interpolation, "IEEE 754: correctly rounded, gamma_4 of the way from either end"},
      {{"exp", "log", "tanh", "erf", "sin", "cos"}, &function,
       "2 ULP: SLEEF 3 (1.0 ULP variants), CUDA C++ Programming Guide, accuracy of mathematical functions", kElementwise},
      {{"rsqrt", "pow"}, &function,
       "2 ULP: SLEEF 3 (1.0 ULP variants), CUDA C++ Programming Guide, accuracy of mathematical functions",
       {2, "in 16 bits a root or square is rounded, and what is made of it: ATen/native/cpu/UnaryOpsKernel.cpp, PowKernel.cpp"}},
      {{"sigmoid", "silu"}, &sigmoid, "exp of 2 ULP, a sum, a quotient, a product", kElementwise},
      {{"gelu"}, &gelu, "erf or tanh of 2 ULP, its argument by 6 roundings", kElementwise},
      {{"mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "matmul", "linear"}, &product,
       "gamma_K sum |x||y|: Higham 2002, section 3.5", kProducts, true, true},
      {{"convolution", "_convolution", "conv2d", "mkldnn_convolution", "thnn_conv2d", "_slow_conv2d_forward"}, &convolution,
       "gamma_K sum |x||w|: Higham 2002, section 3.5", kProducts, true, true},
      {{"sum", "mean"}, &sum, "gamma_n sum |x|: Higham 2002, section 4.2", kMeans},
      {{"nll_loss_forward"}, &negative_log_likelihood, "gamma_N sum |x|: Higham 2002, section 4.2"},
      {{"softmax", "_softmax"}, &softmax, "exp of 2 ULP, gamma_K of the sum, a quotient", kReductions},
      {{"log_softmax", "_log_softmax"}, &log_softmax, "exp and log of 2 ULP, gamma_K of the sum", kReductions},
      {{"native_batch_norm"}, &batch_norm,
       "gamma_N of a channel's mean and variance, then five roundings; of running statistics four of the call's own", kReductions},
      {{"batch_norm"}, &whole_batch_norm, "gamma_N of a channel's mean and variance, then five roundings", kReductions},
      {{"native_layer_norm"}, &layer_norm, "gamma_N of mean and variance, then four roundings", kReductions},
  };
  // clang-format on
  return kRows;
}

}  // namespace reprobench
