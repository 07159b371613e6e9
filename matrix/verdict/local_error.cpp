#include "matrix/verdict/local_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "kernels/diff/diff.hpp"
#include "matrix/verdict/snapshot_comparison.hpp"

namespace reprobench {
namespace {

constexpr double kRoundoff = 0x1p-24;  // of fp32
constexpr double kUnitTf32 = 0x1p-11;
constexpr double kSmallest = 0x1p-126;  // below it numbers lose bits, or are taken for zero
constexpr double kFunctionUlps = 2;     // of exp, log, tanh, erf ...

using Doubles = std::vector<double>;

// Everything a bound is made of.
struct Captured {
  const OperatorRecord& call;
  std::size_t output;
  std::span<const TensorView> tensors;
  const LocalSettings& settings;
  const TensorView* made;
  Doubles exact;

  const TensorView* tensor(std::string_view kind, std::size_t place) const {
    return find_tensor(tensors, fmt::format("{}.{}", kind, place));
  }
  Doubles values(std::string_view kind, std::size_t place) const;
  std::int64_t input_extent(std::size_t input, int from_the_end) const {
    const TensorView* view = tensor("input", input);
    const auto rank = view == nullptr ? 0 : static_cast<int>(view->shape.size());
    return rank < from_the_end ? 0 : view->shape[static_cast<std::size_t>(rank - from_the_end)];
  }
};

std::int64_t element_count(const TensorView& view) {
  std::int64_t count = 1;
  for (const std::int64_t extent : view.shape) count *= extent;
  return count;
}

Doubles doubles_of(const TensorView& view) {
  const ElementType type = element_type_of(view.dtype);
  const std::size_t size = element_bytes(type);
  Doubles values(static_cast<std::size_t>(element_count(view)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, view.bytes.data() + i * size, size);
    values[i] = element_value(type, bits);
  }
  return values;
}

Doubles Captured::values(std::string_view kind, std::size_t place) const {
  const TensorView* view = tensor(kind, place);
  return view == nullptr ? Doubles{} : doubles_of(*view);
}

// Error of n roundings in a row, relative to the sum of the sizes of what is added (Higham 2002, lemma 3.1).
double gamma(double n) { return n * kRoundoff / (1 - n * kRoundoff); }

// A bound for every element of the output; empty: the inputs on record do not give one.
using MakeBound = Doubles (*)(const Captured& captured);

Doubles times_result(const Captured& captured, double roundings) {
  Doubles bound;
  for (const double exact : captured.exact) bound.push_back(roundings * kRoundoff * std::abs(exact));
  return bound;
}

Doubles no_rounding(const Captured& captured) { return Doubles(captured.exact.size(), 0); }
Doubles two_roundings(const Captured& captured) { return times_result(captured, 2); }
Doubles function(const Captured& captured) { return times_result(captured, 2 * kFunctionUlps); }
// exp, one added, divided, and for silu multiplied.
Doubles sigmoid(const Captured& captured) { return times_result(captured, 2 * kFunctionUlps + 4); }

// `terms` roundings of what is summed up, and one of the result.
Doubles of_magnitude(const Captured& captured, double terms, double of_inputs) {
  const Doubles sizes = captured.values("magnitude", captured.output);
  if (sizes.size() != captured.exact.size()) return {};
  Doubles bound;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double exact = std::abs(captured.exact[i]);
    if (sizes[i] < exact * (1 - 1e-9)) return {};  // a factor is negative: these are no sums of sizes
    bound.push_back((gamma(terms) + of_inputs) * sizes[i] + kRoundoff * exact);
  }
  return bound;
}

// Two operands, one of them scaled.
Doubles addition(const Captured& captured) { return of_magnitude(captured, 2, 0); }

std::size_t left_factor(const std::string& name) {
  return name.find("add") != std::string::npos ? 1 : 0;  // addmm(addend, left, right)
}

// Of K terms, scaled, with an addend.
Doubles product(const Captured& captured) {
  const auto terms = captured.input_extent(left_factor(captured.call.name), 1);
  if (terms == 0) return {};
  const double of_inputs = captured.settings.rounds_inputs_to_tf32 ? 2.5 * kUnitTf32 : 0;
  return of_magnitude(captured, static_cast<double>(terms) + 2, of_inputs);
}

Doubles sum(const Captured& captured) {
  const TensorView* input = captured.tensor("input", 0);
  if (input == nullptr || captured.exact.empty()) return {};
  const auto terms = element_count(*input) / static_cast<std::int64_t>(captured.exact.size());
  return of_magnitude(captured, static_cast<double>(terms) + 1, 0);
}

// x / 2 (1 + f(t)): t is off by 6 roundings, and t f'(t) stays below 0.49 for erf and tanh alike; f itself by its
// documented error, and the sum of 1 and f may cancel.
Doubles gelu(const Captured& captured) {
  const Doubles x = captured.values("input", 0);
  if (x.size() != captured.exact.size()) return {};
  Doubles bound = times_result(captured, 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    bound[i] += 0.5 * std::abs(x[i]) * (6 * 0.49 + 2 * kFunctionUlps) * kRoundoff;
  }
  return bound;
}

// The length of what a softmax sums up; its first constant is the dimension.
double softmax_terms(const Captured& captured) {
  const TensorView* input = captured.tensor("input", 0);
  if (input == nullptr || input->shape.empty()) return 0;
  const int dimension = std::atoi(captured.call.constants.c_str());
  const auto rank = static_cast<int>(input->shape.size());
  const int place = dimension < 0 ? dimension + rank : dimension;
  return place < 0 || place >= rank ? 0 : static_cast<double>(input->shape[static_cast<std::size_t>(place)]);
}

// y = exp(x - max) / sum: the difference is rounded once, and is at most -ln y; in the sum it weighs ln K at most.
Doubles softmax(const Captured& captured) {
  const double terms = softmax_terms(captured);
  if (terms == 0) return {};
  Doubles bound;
  for (const double y : captured.exact) {
    const double argument = y > 0 ? std::log(terms) - std::log(y) : 0;
    bound.push_back(y * (kRoundoff * (argument + 4 * kFunctionUlps + 2) + gamma(terms)));
  }
  return bound;
}

// x - max - ln(sum).
Doubles log_softmax(const Captured& captured) {
  const double terms = softmax_terms(captured);
  if (terms == 0) return {};
  const double of_sum = std::log(terms) + gamma(terms) / kRoundoff + 2 * kFunctionUlps * (1 + std::log(terms));
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
Doubles layer_norm(const Captured& captured) {
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
    const double of_mean = gamma(static_cast<double>(width)) * sums.mean_size;
    const double of_inverse =
        1.5 * inverse[row] * inverse[row] * gamma(static_cast<double>(width) + 2) * sums.mean_square +
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

struct BoundRow {
  std::vector<std::string_view> names;
  MakeBound bound;
  const char* source;
};

const std::vector<BoundRow>& rows() {
  // clang-format off
  static const std::vector<BoundRow> kRows = {
      {{"relu", "threshold_backward", "neg", "abs", "clone", "contiguous", "embedding", "index_select", "cat"}, &no_rounding,
       "nothing is rounded"},
      {{"mul", "div", "sqrt", "reciprocal", "masked_fill"}, &two_roundings,
       "IEEE 754: correctly rounded, a scalar factor as well"},
      {{"add"}, &addition, "IEEE 754: correctly rounded, a scaled operand as well"},
      {{"exp", "log", "tanh", "erf", "sin", "cos", "rsqrt"}, &function,
       "2 ULP: SLEEF 3 (1.0 ULP variants), CUDA C++ Programming Guide, accuracy of mathematical functions"},
      {{"sigmoid", "silu"}, &sigmoid, "exp of 2 ULP, a sum, a quotient, a product"},
      {{"gelu"}, &gelu, "erf or tanh of 2 ULP, its argument by 6 roundings"},
      {{"mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "matmul", "linear"}, &product,
       "gamma_K sum |x||y|: Higham 2002, section 3.5"},
      {{"sum", "mean"}, &sum, "gamma_n sum |x|: Higham 2002, section 4.2"},
      {{"softmax", "_softmax"}, &softmax, "exp of 2 ULP, gamma_K of the sum, a quotient"},
      {{"log_softmax", "_log_softmax"}, &log_softmax, "exp and log of 2 ULP, gamma_K of the sum"},
      {{"native_layer_norm"}, &layer_norm, "gamma_N of mean and variance, then four roundings"},
  };
  // clang-format on
  return kRows;
}

// "aten::add_" as "add": in place it computes the same.
std::string plain_name(const std::string& name) {
  std::string plain = name.rfind("aten::", 0) == 0 ? name.substr(6) : name;
  if (plain.size() > 1 && plain.back() == '_') plain.pop_back();
  return plain;
}

const BoundRow* row_of(const std::string& name) {
  const auto found = std::find_if(rows().begin(), rows().end(), [plain = plain_name(name)](const BoundRow& row) {
    return std::find(row.names.begin(), row.names.end(), plain) != row.names.end();
  });
  return found == rows().end() ? nullptr : &*found;
}

void hold_against(const Doubles& bound, const Doubles& made, const Doubles& exact, LocalError& error) {
  error.of_bound = 0;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (made[i] == exact[i] || (std::isnan(made[i]) && std::isnan(exact[i]))) continue;
    double share = std::abs(made[i] - exact[i]) / (bound[i] + kSmallest);
    if (std::isnan(share)) share = std::numeric_limits<double>::infinity();
    if (share <= *error.of_bound) continue;
    error.of_bound = share;
    error.worst = static_cast<std::int64_t>(i);
  }
}

}  // namespace

std::optional<LocalError> local_error(const OperatorRecord& call, std::size_t output,
                                      std::span<const TensorView> tensors, const LocalSettings& settings) {
  Captured captured{call, output, tensors, settings, find_tensor(tensors, fmt::format("output.{}", output)), {}};
  const TensorView* exact = captured.tensor("fp64", output);
  if (captured.made == nullptr || exact == nullptr || exact->dtype != "F64" || exact->shape != captured.made->shape) {
    return std::nullopt;
  }
  captured.exact = doubles_of(*exact);
  const ErrorSums sums =
      error_sums(element_type_of(captured.made->dtype), captured.made->bytes, ElementType::fp64, exact->bytes);
  LocalError error;
  error.error_rel = sums.reference_squares > 0 ? std::sqrt(sums.error_squares / sums.reference_squares) : 0;
  const BoundRow* row = row_of(call.name);
  if (row == nullptr) {
    error.no_bound = fmt::format("no bound is derived for {}", call.name);
  } else if (captured.made->dtype != "F32") {
    error.no_bound = "bounds are derived for fp32 alone";
  } else if (const Doubles bound = row->bound(captured); bound.size() != captured.exact.size() || bound.empty()) {
    error.no_bound = fmt::format("what is on record of {} does not give its bound", call.name);
  } else {
    error.source = row->source;
    hold_against(bound, doubles_of(*captured.made), captured.exact, error);
  }
  return error;
}

}  // namespace reprobench
