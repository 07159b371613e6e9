// Attention of queries q over keys k and values v, (B, H, T, D), whatever kernel carries it out: products and a softmax
// one after the other, or blocks of keys whose maximum, sum and result are scaled anew with each block (Dao et al.
// 2022, FlashAttention, algorithm 1).
//
//   s = c q k^T, p = softmax(s), o = p v
//
// A weight p is off relatively by what its score is off, by the exponential, and by the scaling of its block; what that
// does to o follows from do = sum p e (v - o). Gradients take p for exp(s - l) with the logarithm l of the sum from the
// forward pass:
//
//   dv = p^T g, ds = p (g v^T - sum g o), dq = c ds k, dk = c ds^T q
//
// In 16 bits scores, their softmax and its sum are of fp32, and every product adds up in fp32. LibTorch's kernel for
// CPUs stores in 16 bits p before it is multiplied by v and g, ds before it is multiplied by k and q, and what is added
// up of dv and dk after each block of queries, of dq after each block of keys
// (ATen/native/cpu/FlashAttentionKernel.cpp of 2.2 to 2.9). A release that stores scores in 16 bits, too, is beyond.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "matrix/numerics/bounds/operator_bounds.hpp"

namespace reprobench {
namespace {

// LibTorch's kernel for CPUs takes an exponential of 20 ULP, Vectorized::exp_u20.
constexpr double kExponentialUlps = 20;
// For 16-bit queries the exponential is a cubic polynomial since 2.8: Vectorized::fexp_u20, with an error of at most
// 1.13e-4.
constexpr double kNarrowExponential = 0x1p-13;
constexpr std::size_t kSmallestBlock = 32;  // of keys, in LibTorch's kernels
// For the backward kernel: blocks of queries are a multiple of 32 and add up in order. So whatever a coarser one
// stores, a finer one stores too.
constexpr std::size_t kBlockOfQueries = 32;
constexpr std::size_t kBlockOfKeys = 512;
constexpr double kLargestRelative = 0x1p-6;  // of a weight; above it squares of errors count
constexpr double kSecondOrder = 1 + 2 * kLargestRelative;
constexpr double kMostProducts = 4e9;  // a bound takes as many as the call

// Places of an operator's constants; `scale` may be missing at the end.
struct Form {
  std::string_view name;
  std::size_t mask;
  std::size_t dropout;
  std::size_t causal;
  std::size_t scale;
};

constexpr Form kForms[] = {
    {"aten::scaled_dot_product_attention", 0, 1, 2, 3},
    {"aten::_scaled_dot_product_attention_math", 0, 1, 2, 4},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", 2, 0, 1, 3},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", 2, 0, 1, 3},
};

std::vector<std::string> split(const std::string& constants) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < constants.size();) {
    const std::size_t end = std::min(constants.find(", ", begin), constants.size());
    parts.push_back(constants.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

// "0.125 (0x3fc0000000000000)", by its bits.
std::optional<double> number_of(const std::string& constant) {
  const std::size_t bits = constant.find("(0x");
  if (bits == std::string::npos) return std::nullopt;
  return std::bit_cast<double>(std::uint64_t{std::strtoull(constant.c_str() + bits + 1, nullptr, 16)});
}

struct Arguments {
  bool is_causal = false;
  std::optional<double> scale;
};

// The arguments of a call that takes `tensors`. Nothing if it takes one more, a mask, if it has dropout, or if it is
// not known.
std::optional<Arguments> arguments_of(const CapturedCall& captured, std::size_t tensors) {
  const OperatorRecord& call = captured.call;
  const auto form =
      std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& row) { return row.name == call.name; });
  const auto parts = split(call.constants);
  if (captured.tensor("input", tensors) != nullptr) return std::nullopt;
  if (form == std::end(kForms) || parts.size() <= std::max({form->mask, form->dropout, form->causal})) {
    return std::nullopt;
  }
  if (parts[form->mask] != "none" || number_of(parts[form->dropout]) != 0.0) return std::nullopt;
  Arguments arguments{parts[form->causal] == "true", std::nullopt};
  if (parts.size() > form->scale && parts[form->scale] != "none") {
    arguments.scale = number_of(parts[form->scale]);
    if (!arguments.scale) return std::nullopt;
  }
  return arguments;
}

// One of q, k, v, o and their gradients, (B, H, T, D).
struct Heads {
  Doubles values;
  std::size_t batch = 0;
  std::size_t heads = 0;
  std::size_t length = 0;
  std::size_t width = 0;

  const double* row(std::size_t b, std::size_t h, std::size_t t) const {
    return values.data() + ((b * heads + h) * length + t) * width;
  }
  bool is_like(const Heads& other) const {
    return batch == other.batch && heads == other.heads && length == other.length;
  }
};

// Empty: not on record, or of another rank.
Heads heads_of(const CapturedCall& captured, std::size_t input) {
  const TensorView* view = captured.tensor("input", input);
  if (view == nullptr || view->shape.size() != 4) return {};
  const auto extent = [&](std::size_t i) { return static_cast<std::size_t>(view->shape[i]); };
  return {doubles_of(*view), extent(0), extent(1), extent(2), extent(3)};
}

double dot(const double* a, const double* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

double dot_of_sizes(const double* a, const double* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::abs(a[i] * b[i]);
  return sum;
}

// Queries, keys, values and how they meet.
struct Attention {
  Heads q;
  Heads k;
  Heads v;
  Arguments arguments;
  const StoredType& type;

  bool is_whole() const {
    return !q.values.empty() && !k.values.empty() && !v.values.empty() && q.batch == k.batch && k.is_like(v) &&
           q.width == k.width && q.heads % k.heads == 0 &&
           static_cast<double>(q.values.size()) * static_cast<double>(k.length) <= kMostProducts;
  }
  double scale() const { return arguments.scale.value_or(1 / std::sqrt(static_cast<double>(q.width))); }
  std::size_t head_of_keys(std::size_t head) const { return head / (q.heads / k.heads); }
  std::size_t keys_of(std::size_t query) const {
    return arguments.is_causal ? std::min(query + 1, k.length) : k.length;
  }
};

// Scores of one query, and what each is off by: D products, their sum, and at most five roundings by the scale and its
// root on either factor.
struct Scores {
  Doubles value;
  Doubles error;
};

Scores scores_of(const Attention& of, std::size_t b, std::size_t h, std::size_t query) {
  Scores scores;
  const double* q = of.q.row(b, h, query);
  for (std::size_t j = 0; j < of.keys_of(query); ++j) {
    const double* k = of.k.row(b, of.head_of_keys(h), j);
    scores.value.push_back(of.scale() * dot(q, k, of.q.width));
    scores.error.push_back(gamma_n(static_cast<double>(of.q.width) + 5) * std::abs(of.scale()) *
                           dot_of_sizes(q, k, of.q.width));
  }
  return scores;
}

// exp(s - shift), relatively: of the score, of a difference that may be taken after a factor for powers of two, of the
// exponential.
double weight_error(double score, double score_error, double shift, double exponential) {
  return score_error + kRoundoff * 2 * (std::abs(score) + std::abs(shift)) + exponential;
}

double exponential_of_softmax(const StoredType& type) {
  return type.is_16_bits() ? kNarrowExponential : 2 * kExponentialUlps * kRoundoff;
}

struct Weights {
  Doubles value;  // p
  Doubles error;  // relative
  double largest_error = 0;
  double log_sum = 0;   // of exp(s - largest score)
  double largest = 0;   // score
  double summands = 0;  // roundings of a sum over keys, with those of its blocks
};

Weights softmax_of(const Scores& scores, const StoredType& type) {
  Weights weights;
  const auto [smallest, largest] = std::minmax_element(scores.value.begin(), scores.value.end());
  weights.largest = *largest;
  const auto keys = static_cast<double>(scores.value.size());
  const double blocks = std::ceil(keys / kSmallestBlock);
  // Each block scales what was before by the exponential of the maximum's growth, which adds up to the range at most.
  const double of_blocks = blocks < 2 ? 0 : kRoundoff * (blocks * (2 * kFunctionUlps + 2) + (*largest - *smallest));
  weights.summands = keys + blocks;
  double sum = 0;
  for (std::size_t j = 0; j < scores.value.size(); ++j) {
    weights.value.push_back(std::exp(scores.value[j] - *largest));
    weights.error.push_back(weight_error(scores.value[j], scores.error[j], *largest, exponential_of_softmax(type)) +
                            of_blocks);
    weights.largest_error = std::max(weights.largest_error, weights.error.back());
    sum += weights.value.back();
  }
  weights.log_sum = std::log(sum);
  for (double& value : weights.value) value /= sum;
  return weights;
}

void add_output_bounds(const Attention& of, std::size_t b, std::size_t h, const Weights& weights, Doubles& bound) {
  for (std::size_t d = 0; d < of.v.width; ++d) {
    double output = 0;
    double size = 0;
    for (std::size_t j = 0; j < weights.value.size(); ++j) {
      const double v = of.v.row(b, of.head_of_keys(h), j)[d];
      output += weights.value[j] * v;
      size += weights.value[j] * std::abs(v);
    }
    double of_weights = 0;
    for (std::size_t j = 0; j < weights.value.size(); ++j) {
      const double v = of.v.row(b, of.head_of_keys(h), j)[d];
      of_weights += weights.value[j] * weights.error[j] * std::abs(v - output);
      of_weights += of.type.storing(weights.value[j]) * std::abs(v);  // the sum of weights has them before that
    }
    bound.push_back(kSecondOrder * of_weights + gamma_n(weights.summands + 3) * size +
                    gamma_n(weights.summands + 2) * std::abs(output));
  }
}

double log_sum_bound(const Weights& weights) {
  double of_weights = 0;
  for (std::size_t j = 0; j < weights.value.size(); ++j) of_weights += weights.value[j] * weights.error[j];
  return kSecondOrder * of_weights + gamma_n(weights.summands) +
         kRoundoff * (2 * kFunctionUlps * weights.log_sum + std::abs(weights.largest + weights.log_sum) +
                      std::abs(weights.largest));
}

// The bound of o, and of the logarithm of the sum if that is an output beside it.
Doubles attention(const CapturedCall& captured) {
  const auto arguments = arguments_of(captured, 3);
  if (!arguments) return {};
  const Attention of{heads_of(captured, 0), heads_of(captured, 1), heads_of(captured, 2), *arguments,
                     captured.type_of_input(0)};
  if (!of.is_whole()) return {};
  const bool has_log_sum = captured.call.name.ends_with("_for_cpu");
  if (captured.output > (has_log_sum ? 1U : 0U)) return {};
  Doubles bound;
  for (std::size_t b = 0; b < of.q.batch; ++b) {
    for (std::size_t h = 0; h < of.q.heads; ++h) {
      for (std::size_t i = 0; i < of.q.length; ++i) {
        const Weights weights = softmax_of(scores_of(of, b, h, i), of.type);
        if (!(weights.largest_error <= kLargestRelative)) return {};
        if (captured.output == 0) add_output_bounds(of, b, h, weights, bound);
        if (captured.output == 1) bound.push_back(log_sum_bound(weights));
      }
    }
  }
  return bound;
}

struct Gradients {
  StoredSums of_q;
  StoredSums of_k;
  StoredSums of_v;
};

struct Backward {
  Attention forward;
  Heads g;
  Heads o;
  Doubles log_sums;  // (B, H, T)

  bool is_whole() const {
    return forward.is_whole() && forward.q.heads == forward.k.heads && g.is_like(forward.q) && o.is_like(forward.q) &&
           g.width == forward.v.width && o.width == g.width &&
           log_sums.size() == forward.q.batch * forward.q.heads * forward.q.length;
  }
};

bool ends_block(std::size_t place, std::size_t block, std::size_t count) {
  return (place + 1) % block == 0 || place + 1 == count;
}

// Adds the part of one query. False: a weight is off by too much for a bound.
bool add_query(const Backward& of, std::size_t b, std::size_t h, std::size_t i, Gradients& sums) {
  const Heads& q = of.forward.q;
  const Heads& k = of.forward.k;
  const Heads& v = of.forward.v;
  const StoredType& type = of.forward.type;
  const Scores scores = scores_of(of.forward, b, h, i);
  const double log_sum = of.log_sums[(b * q.heads + h) * q.length + i];
  const double* g = of.g.row(b, h, i);
  const double* o = of.o.row(b, h, i);
  const double delta = dot(g, o, v.width);
  const double delta_size = dot_of_sizes(g, o, v.width);
  const double scale = of.forward.scale();
  const double of_keys = gamma_n(static_cast<double>(k.length) + 3);
  const double of_queries = gamma_n(static_cast<double>(q.length) + 3);
  const double of_width = gamma_n(static_cast<double>(v.width) + 1);
  const std::size_t at_query = ((b * q.heads + h) * q.length + i) * q.width;
  for (std::size_t j = 0; j < scores.value.size(); ++j) {
    const double* value = v.row(b, h, j);
    const double p = std::exp(scores.value[j] - log_sum);
    const double relative = weight_error(scores.value[j], scores.error[j], log_sum, 2 * kExponentialUlps * kRoundoff);
    if (!(relative <= kLargestRelative)) return false;
    const double gradient = dot(g, value, v.width);
    const double of_score = p * (gradient - delta);
    const double size = std::abs(of_score);
    const double computed =
        kSecondOrder * (relative * size + p * (of_width * (dot_of_sizes(g, value, v.width) + delta_size) +
                                               2 * kRoundoff * (std::abs(gradient) + std::abs(delta))));
    const double error = computed + type.storing(size + computed);
    const double of_p = kSecondOrder * (p * (relative + of_queries) + type.storing(p));
    const double* key = k.row(b, h, j);
    const std::size_t at_key = ((b * k.heads + h) * k.length + j) * q.width;
    const std::size_t at_value = ((b * k.heads + h) * k.length + j) * v.width;
    for (std::size_t d = 0; d < v.width; ++d) sums.of_v.add(at_value + d, p * g[d], of_p * std::abs(g[d]));
    for (std::size_t d = 0; d < q.width; ++d) {
      const double query = q.row(b, h, i)[d];
      sums.of_q.add(at_query + d, scale * of_score * key[d],
                    std::abs(scale * key[d]) * (error + of_keys * (size + error)));
      sums.of_k.add(at_key + d, scale * of_score * query,
                    std::abs(scale * query) * (error + of_queries * (size + error)));
      if (ends_block(j, kBlockOfKeys, scores.value.size())) sums.of_q.store(at_query + d);
    }
  }
  return true;
}

// The block of queries that ends with one has added to the keys that it sees.
void store_keys(const Backward& of, std::size_t b, std::size_t h, std::size_t i, Gradients& sums) {
  const Heads& k = of.forward.k;
  const std::size_t first = (b * k.heads + h) * k.length;
  for (std::size_t j = first; j < first + of.forward.keys_of(i); ++j) {
    for (std::size_t d = 0; d < k.width; ++d) sums.of_k.store(j * k.width + d);
    for (std::size_t d = 0; d < of.forward.v.width; ++d) sums.of_v.store(j * of.forward.v.width + d);
  }
}

Doubles attention_backward(const CapturedCall& captured) {
  const auto arguments = arguments_of(captured, 6);
  if (!arguments) return {};
  const StoredType& type = captured.type_of_input(1);
  const Backward of{{heads_of(captured, 1), heads_of(captured, 2), heads_of(captured, 3), *arguments, type},
                    heads_of(captured, 0),
                    heads_of(captured, 4),
                    captured.values("input", 5)};
  if (!of.is_whole()) return {};
  const Heads& q = of.forward.q;
  Gradients sums{StoredSums(q.values.size(), type), StoredSums(of.forward.k.values.size(), type),
                 StoredSums(of.forward.v.values.size(), type)};
  for (std::size_t b = 0; b < q.batch; ++b) {
    for (std::size_t h = 0; h < q.heads; ++h) {
      for (std::size_t i = 0; i < q.length; ++i) {
        if (!add_query(of, b, h, i, sums)) return {};
        if (ends_block(i, kBlockOfQueries, q.length)) store_keys(of, b, h, i, sums);
      }
    }
  }
  return captured.output == 0 ? sums.of_q.errors() : captured.output == 1 ? sums.of_k.errors() : sums.of_v.errors();
}

}  // namespace

const std::vector<BoundRow>& attention_bounds() {
  static const std::vector<BoundRow> kRows = {
      {{"scaled_dot_product_attention", "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention_for_cpu"},
       &attention,
       "gamma_D of the scores, exp of 20 ULP, gamma_K of the sums over keys and their blocks",
       {1, "in 16 bits exp by 2^-13, weights and result rounded once: ATen/native/cpu/FlashAttentionKernel.cpp"},
       false,
       true},
      {{"_scaled_dot_product_flash_attention_for_cpu_backward"},
       &attention_backward,
       "gamma_D of scores and their gradients, exp of 20 ULP, gamma_K of the sums",
       {0,
        "in 16 bits weights, scores' gradients and the sums after each block rounded: "
        "ATen/native/cpu/FlashAttentionKernel.cpp"}},
  };
  return kRows;
}

}  // namespace reprobench
