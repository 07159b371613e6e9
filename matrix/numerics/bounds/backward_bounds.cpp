// Gradients. Each bound covers the forms that libraries compute: (g - s) y as well as g y - s y of a softmax, moments
// taken about zero (CPU) as well as about the mean (GPU) of a normalisation.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <string>

#include "matrix/numerics/bounds/operator_bounds.hpp"

namespace reprobench {
namespace {

using std::abs;

// `bound_of(g, y, size)` of every element, where `size` adds up `size_of(g, y)` along its line. Empty without both.
template <class SizeOf, class BoundOf>
Doubles along_lines(const CapturedCall& captured, SizeOf size_of, BoundOf bound_of) {
  const Doubles g = captured.values("input", 0);
  const Doubles y = captured.values("input", 1);
  const Lines lines = lines_of(captured);
  if (lines.length == 0 || y.size() != g.size() || captured.exact.size() != g.size()) return {};
  Doubles bound(g.size());
  for (std::size_t line = 0; line < lines.outer * lines.inner; ++line) {
    const std::size_t first = line / lines.inner * lines.length * lines.inner + line % lines.inner;
    const std::size_t end = first + lines.length * lines.inner;
    double size = 0;
    for (std::size_t i = first; i < end; i += lines.inner) size += size_of(g[i], y[i]);
    for (std::size_t i = first; i < end; i += lines.inner) bound[i] = bound_of(g[i], y[i], size);
  }
  return bound;
}

// _softmax_backward_data(g, y, dimension, type) -> (g - sum g y) y.
Doubles softmax_backward(const CapturedCall& captured) {
  const double of_sum = gamma_n(static_cast<double>(lines_of(captured).length) + 3);
  return along_lines(
      captured, [](double g, double y) { return abs(g * y); },
      [&](double g, double y, double size) { return abs(y) * (of_sum * size + gamma_n(3) * abs(g)); });
}

// _log_softmax_backward_data(g, y, dimension, type) -> g - exp(y) sum g.
Doubles log_softmax_backward(const CapturedCall& captured) {
  const double of_sum = gamma_n(static_cast<double>(lines_of(captured).length) + 3) + 2 * kFunctionUlps * kRoundoff;
  return along_lines(
      captured, [](double g, double) { return abs(g); },
      [&](double g, double y, double size) { return std::exp(y) * size * of_sum + gamma_n(2) * abs(g); });
}

// A normalisation's gradients, of `groups` of numbers that share mean m and 1/sigma = r, with h = g w:
//   of x: r h - r sum(h) / N - (x - m) r^3 sum(h (x - m)) / N,   of w: sum g (x - m) r,   of b: sum g.
// The sums of sizes have |x| + |m| for x - m, as moments about zero do.
struct NormSizes {
  double of_scaled = 0;  // sum |h|
  double of_moment = 0;  // sum |h| (|x| + |m|)
};

double input_gradient_bound(double scaled, double x_and_mean, double inverse, const NormSizes& sizes, double count) {
  const double cubed = inverse * inverse * inverse;
  return gamma_n(8) * inverse * abs(scaled) +
         gamma_n(count + 16) * (inverse * sizes.of_scaled + x_and_mean * cubed * sizes.of_moment) / count;
}

// The largest error of a layer norm's gradients of weight and bias. For 16-bit numbers a CPU stores their sums in 16
// bits after each row, whatever type they are made of. Each thread stores those of its rows, one after the other
// (ATen/native/cpu/layer_norm_kernel.cpp). A GPU adds up in fp32.
class SumsOfRows {
 public:
  SumsOfRows(const CapturedCall& captured, std::size_t rows, std::size_t width)
      : width_(width), rows_of_thread_(rows), sums_(0, *stored_type("F32")) {
    const auto threads = static_cast<std::size_t>(captured.settings.threads);
    if (threads > 0) rows_of_thread_ = (rows + threads - 1) / threads;
    sums_ = StoredSums((rows + rows_of_thread_ - 1) / rows_of_thread_ * width,
                       threads > 0 ? captured.type_of_input(1) : *stored_type("F32"));
  }
  void add(std::size_t row, std::size_t column, double term, double error) {
    const std::size_t place = row / rows_of_thread_ * width_ + column;
    sums_.add(place, term, error);
    sums_.store(place);
  }
  Doubles errors() const {
    Doubles errors(width_);
    for (std::size_t i = 0; i < sums_.errors().size(); ++i) errors[i % width_] += sums_.errors()[i];
    return errors;
  }

 private:
  std::size_t width_;
  std::size_t rows_of_thread_;
  StoredSums sums_;
};

// native_layer_norm_backward(g, x, shape, mean, 1/sigma, weight, bias, mask): groups are rows.
Doubles layer_norm_backward(const CapturedCall& captured) {
  const Doubles g = captured.values("input", 0);
  const Doubles x = captured.values("input", 1);
  const Doubles mean = captured.values("input", 2);
  const Doubles inverse = captured.values("input", 3);
  const Doubles weight = captured.values("input", 4);
  const std::size_t width = weight.size();
  if (!captured.call.constants.ends_with("[true, true, true]") || width == 0 || mean.size() * width != x.size() ||
      inverse.size() != mean.size() || g.size() != x.size()) {
    return {};
  }
  const auto rows = static_cast<double>(mean.size());
  Doubles of_input;
  SumsOfRows of_weight(captured, mean.size(), width);
  SumsOfRows of_bias(captured, mean.size(), width);
  for (std::size_t row = 0; row < mean.size(); ++row) {
    NormSizes sizes;
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t i = row * width + k;
      const double with_mean = abs(x[i]) + abs(mean[row]);
      sizes.of_scaled += abs(g[i] * weight[k]);
      sizes.of_moment += abs(g[i] * weight[k]) * with_mean;
      of_weight.add(row, k, g[i] * (x[i] - mean[row]) * inverse[row],
                    gamma_n(rows + 5) * abs(g[i]) * with_mean * inverse[row]);
      of_bias.add(row, k, g[i], gamma_n(rows) * abs(g[i]));
    }
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t i = row * width + k;
      of_input.push_back(input_gradient_bound(g[i] * weight[k], abs(x[i]) + abs(mean[row]), inverse[row], sizes,
                                              static_cast<double>(width)));
    }
  }
  return captured.output == 0 ? of_input : captured.output == 1 ? of_weight.errors() : of_bias.errors();
}

// native_batch_norm_backward(g, x, weight, running mean and variance, mean, 1/sigma, train, eps, mask): groups are
// channels, the second dimension. Not with running statistics, which nothing of x goes into.
Doubles batch_norm_backward(const CapturedCall& captured) {
  const Doubles g = captured.values("input", 0);
  const Doubles x = captured.values("input", 1);
  const Doubles weight = captured.values("input", 2);
  const Doubles mean = captured.values("input", 5);
  const Doubles inverse = captured.values("input", 6);
  const auto rank = captured.tensor("input", 1) == nullptr ? 0 : captured.tensor("input", 1)->shape.size();
  const std::size_t channels = rank < 2 ? 0 : static_cast<std::size_t>(captured.tensor("input", 1)->shape[1]);
  const std::string& constants = captured.call.constants;
  if (!constants.starts_with("true, ") || !constants.ends_with("[true, true, true]") || channels == 0 || x.empty() ||
      weight.size() != channels || mean.size() != channels || inverse.size() != channels || g.size() != x.size()) {
    return {};
  }
  std::size_t inner = 1;
  for (std::size_t i = 2; i < rank; ++i) inner *= static_cast<std::size_t>(captured.tensor("input", 1)->shape[i]);
  const auto count = static_cast<double>(x.size() / channels);
  std::vector<NormSizes> sizes(channels);  // of g, without the weight
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t channel = i / inner % channels;
    sizes[channel].of_scaled += abs(g[i]);
    sizes[channel].of_moment += abs(g[i]) * (abs(x[i]) + abs(mean[channel]));
  }
  Doubles bound;
  for (std::size_t i = 0; captured.output == 0 && i < x.size(); ++i) {
    const std::size_t channel = i / inner % channels;
    bound.push_back(abs(weight[channel]) * input_gradient_bound(g[i], abs(x[i]) + abs(mean[channel]), inverse[channel],
                                                                sizes[channel], count));
  }
  for (std::size_t channel = 0; captured.output != 0 && channel < channels; ++channel) {
    bound.push_back(captured.output == 1 ? gamma_n(count + 5) * sizes[channel].of_moment * inverse[channel]
                                         : gamma_n(count) * sizes[channel].of_scaled);
  }
  return bound;
}

// gelu_backward(g, x, approximate). Without: g (F + x f), F = (1 + erf(x / sqrt 2)) / 2, f the density exp(-x^2 / 2) /
// sqrt(2 pi). With tanh: g ((1 + T) / 2 + x (1 - T^2) s' / 2), T = tanh s; where T is near 1, 1 - T^2 is off by what T
// is.
Doubles gelu_backward(const CapturedCall& captured) {
  const Doubles g = captured.values("input", 0);
  const Doubles x = captured.values("input", 1);
  if (x.size() != captured.exact.size() || g.size() != x.size()) return {};
  const bool is_tanh = captured.call.constants == "\"tanh\"";
  if (!is_tanh && captured.call.constants != "\"none\"" && !captured.call.constants.empty()) return {};
  const double of_function = 6 * 0.49 + 2 * kFunctionUlps;  // in roundoffs, of erf and tanh with their argument
  Doubles bound = times_result(captured, 2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double square = x[i] * x[i];
    double of_factor = 0.5 * (of_function + 2) + 1;
    if (is_tanh) {
      const double slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * square);
      const double tanh = std::tanh(std::sqrt(2 / std::numbers::pi) * (x[i] + 0.044715 * square * x[i]));
      of_factor += 0.5 * abs(x[i]) * slope * (2 * of_function + 2 + 6 * (1 - tanh * tanh));
    } else {
      const double density = std::exp(-square / 2) / std::sqrt(2 * std::numbers::pi);
      of_factor += abs(x[i]) * density * (1.5 * square + 2 * kFunctionUlps + 5);
    }
    bound[i] += kRoundoff * abs(g[i]) * of_factor;
  }
  return bound;
}

// silu_backward(g, x) -> g s (1 + x (1 - s)), s = 1 / (1 + exp(-x)): of s by its bound, and 1 - s may cancel.
Doubles silu_backward(const CapturedCall& captured) {
  const Doubles g = captured.values("input", 0);
  const Doubles x = captured.values("input", 1);
  if (x.size() != captured.exact.size() || g.size() != x.size()) return {};
  Doubles bound;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double sigmoid = 1 / (1 + std::exp(-x[i]));
    bound.push_back(kRoundoff * 2 * (2 * kFunctionUlps + 6) * abs(g[i]) * sigmoid * (1 + abs(x[i])));
  }
  return bound;
}

// tanh_backward(g, y) -> g (1 - y^2), which cancels where y is near 1.
Doubles tanh_backward(const CapturedCall& captured) {
  const Doubles g = captured.values("input", 0);
  if (g.size() != captured.exact.size()) return {};
  Doubles bound;
  for (std::size_t i = 0; i < g.size(); ++i) bound.push_back(gamma_n(4) * abs(g[i]));
  return bound;
}

// Empty: of another type.
std::vector<std::int64_t> whole_numbers(const TensorView& view) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(element_count(view)));
  if (view.dtype != "I64" || view.bytes.size() != values.size() * sizeof(std::int64_t)) return {};
  std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

// In 16 bits a CPU adds each row to what is stored of its token, in the order of tokens; the first is as it is
// (embedding_dense_backward_cpu_loop in ATen/native/Embedding.cpp). In which order a GPU stores is not known.
Doubles embedding_backward_stored(const CapturedCall& captured, const std::vector<std::int64_t>& tokens) {
  const std::string& constants = captured.call.constants;  // "tokens there are, padding, scaled by frequency"
  const std::size_t padding = constants.find(", ");
  const Doubles g = captured.values("input", 0);
  if (captured.settings.threads == 0 || !constants.ends_with("false") || padding == std::string::npos ||
      tokens.empty() || g.size() % tokens.size() != 0) {
    return {};
  }
  const std::size_t width = g.size() / tokens.size();
  const std::int64_t left_out = std::atoll(constants.c_str() + padding + 2);
  StoredSums sums(captured.exact.size(), captured.type_of_input(0));
  std::vector<bool> is_stored(captured.exact.size());
  for (std::size_t i = 0; i < g.size(); ++i) {
    const std::int64_t token = tokens[i / width];
    if (token == left_out) continue;
    const std::size_t place = static_cast<std::size_t>(token) * width + i % width;
    if (token < 0 || place >= is_stored.size()) return {};
    sums.add(place, g[i], 0);
    if (is_stored[place]) sums.store(place);
    is_stored[place] = true;
  }
  return sums.errors();
}

// Rows of a gradient that belong to one token: no more than there are tokens.
Doubles embedding_backward(const CapturedCall& captured) {
  const TensorView* indices = captured.tensor("input", 1);
  if (indices == nullptr) return {};
  if (captured.type_of_input(0).is_16_bits()) return embedding_backward_stored(captured, whole_numbers(*indices));
  return of_magnitude(captured, static_cast<double>(element_count(*indices)), 0);
}

// Which of input, weight and bias an output is the gradient of: those that the mask leaves out have no output.
std::string_view gradient_of(const CapturedCall& captured) {
  const std::string& constants = captured.call.constants;
  const std::size_t mask = constants.rfind('[');
  if (mask == std::string::npos) return "";
  std::size_t place = mask + 1;
  std::size_t output = 0;
  for (const std::string_view name : {"input", "weight", "bias"}) {
    const bool is_made = constants.compare(place, 4, "true") == 0;
    if (is_made && output++ == captured.output) return name;
    place = constants.find(", ", place);
    if (place == std::string::npos) break;
    place += 2;
  }
  return "";
}

// No bound in 16 bits: oneDNN rounds once, but which library ran is not on record. Without AVX-512 it is LibTorch's
// own, which stores what is added up of each sample and each pixel under the kernel.
//
// convolution_backward(g, x, w, sizes of bias, stride, padding, dilation, transposed, output padding, groups, mask).
Doubles convolution_backward(const CapturedCall& captured) {
  const TensorView* g = captured.tensor("input", 0);
  const TensorView* weight = captured.tensor("input", 2);
  if (captured.settings.may_transform_convolutions || g == nullptr || weight == nullptr || weight->shape.size() < 3)
    return {};
  if (captured.call.constants.find("], true, [") != std::string::npos) return {};  // transposed
  const std::string_view of = gradient_of(captured);
  if (of.empty() || weight->shape[1] == 0 || g->shape[1] == 0) return {};
  const std::int64_t terms =
      of == "input" ? element_count(*weight) / weight->shape[1] : element_count(*g) / g->shape[1];
  return of_magnitude(captured, static_cast<double>(terms) + 2, 0);
}

}  // namespace

const std::vector<BoundRow>& backward_bounds() {
  // clang-format off
  static const std::vector<BoundRow> kRows = {
      {{"threshold_backward"}, &no_rounding, "nothing is rounded", kMovesNumbers},
      {{"nll_loss_backward"}, &two_roundings, "IEEE 754: a quotient and a product, correctly rounded", kElementwise},
      {{"tanh_backward"}, &tanh_backward, "a square, a difference, a product", kElementwise},
      {{"silu_backward"}, &silu_backward, "a sigmoid's bound, a difference, three products", kElementwise},
      {{"gelu_backward"}, &gelu_backward, "erf or tanh of 2 ULP, its argument by 6 roundings, a density", kElementwise},
      {{"_softmax_backward_data"}, &softmax_backward, "gamma_K of sum |g y|, a difference, a product", kReductions},
      {{"_log_softmax_backward_data"}, &log_softmax_backward, "gamma_K of sum |g|, exp of 2 ULP", kReductions},
      {{"native_layer_norm_backward"}, &layer_norm_backward, "gamma_N of the sums of a row, of the rows for weight and bias",
       {1, "in 16 bits fp32 sums in a row and one rounding, on a CPU the sums of rows stored after each: "
           "ATen/native/cpu/layer_norm_kernel.cpp"}},
      {{"native_batch_norm_backward"}, &batch_norm_backward, "gamma_N of the sums of a channel", kReductions},
      {{"embedding_dense_backward"}, &embedding_backward, "gamma_n sum |g|: Higham 2002, section 4.2",
       {0, "in 16 bits each sum stored as it grows, in the order of tokens: ATen/native/Embedding.cpp"}},
      {{"convolution_backward"}, &convolution_backward, "gamma_K sum |g||w|: Higham 2002, section 3.5"},
  };
  // clang-format on
  return kRows;
}

}  // namespace reprobench
