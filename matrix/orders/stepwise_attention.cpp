#include "matrix/orders/stepwise_attention.hpp"

#include <limits>
#include <regex>

#include "matrix/orders/formed_families.hpp"

namespace reprobench {
namespace {

std::vector<ChainForm> chains_of(std::size_t terms) {
  std::vector<ChainForm> forms;
  for (const std::size_t piece : pieces_of(terms)) {
    for (const bool fused : {true, false}) forms.push_back({piece, fused, false});
  }
  return forms;
}

std::string chain_text(const ChainForm& form) { return fused_letter(form.fused) + std::to_string(form.piece); }

std::string chain_shape(const ChainForm& form) {
  return (form.piece == 0 ? "in one chain" : "in pieces of " + std::to_string(form.piece)) +
         (form.fused ? ", fused" : ", not fused");
}

}  // namespace

void weights_in_steps(const AttentionHead& head, std::size_t query, const StepsForm& form, std::span<float> weights) {
  const std::span<const float> q = head.row(head.q, query);
  std::vector<float> scores(head.keys, -std::numeric_limits<float>::infinity());
  for (std::size_t key = 0; key < head.keys_of(query); ++key) {
    const std::span<const float> k = head.row(head.k, key);
    scores[key] = chain_sum(
        head.width, form.scores, [&](std::size_t i) { return q[i] * head.root_of_scale; },
        [&](std::size_t i) { return k[i] * head.root_of_scale; });
  }
  softmax_row(scores, form.softmax, weights);
}

void attend_in_steps(const AttentionHead& head, std::span<const float> weights, const StepsForm& form,
                     std::span<float> y) {
  for (std::size_t at = 0; at < head.width; ++at) {
    y[at] = chain_sum(
        head.keys, form.values, [&](std::size_t i) { return weights[i]; },
        [&](std::size_t i) { return head.v[i * head.width + at]; });
  }
}

void score_gradients_in_steps(const AttentionHead& head, std::span<const float> dy, std::span<const float> weights,
                              const StepsGradientForm& form, std::span<float> scores) {
  // A weight of 0 leaves no trace of its gradient.
  std::vector<float> of_weights(head.keys);
  for (std::size_t key = 0; key < head.keys; ++key) {
    if (weights[key] == 0) continue;
    const std::span<const float> v = head.row(head.v, key);
    of_weights[key] = chain_sum(
        head.width, form.weights, [&](std::size_t i) { return dy[i]; }, [&](std::size_t i) { return v[i]; });
  }
  softmax_gradient(of_weights, weights, form.softmax, scores);
}

void query_gradient_in_steps(const AttentionHead& head, std::span<const float> scores, const StepsGradientForm& form,
                             std::span<float> dq) {
  for (std::size_t at = 0; at < head.width; ++at) {
    const float sum = chain_sum(
        head.keys, form.products, [&](std::size_t i) { return scores[i]; },
        [&](std::size_t i) { return head.k[i * head.width + at] * head.root_of_scale; });
    dq[at] = sum * head.root_of_scale;
  }
}

void add_share_in_steps(const AttentionHead& head, std::size_t key, const SharedGradient& share, const ChainForm& form,
                        std::span<float> gradient) {
  for (std::size_t at = 0; at < head.width; ++at) {
    const float sum = chain_sum(
        head.queries, form, [&](std::size_t i) { return share.factors[i * head.keys + key]; },
        [&](std::size_t i) { return share.tensor[i * head.width + at] * share.scale_of_tensor; });
    gradient[at] += sum * share.scale_of_sum;
  }
}

std::vector<StepsForm> steps_forms(const AttentionHead& head) {
  std::vector<StepsForm> forms;
  for (const ChainForm& scores : chains_of(head.width)) {
    for (const SoftmaxForm& softmax : softmax_forms(false)) {
      for (const ChainForm& values : chains_of(head.keys)) forms.push_back({scores, softmax, values});
    }
  }
  return forms;
}

std::vector<StepsGradientForm> steps_gradient_forms(const AttentionHead& head) {
  std::vector<StepsGradientForm> forms;
  for (const ChainForm& weights : chains_of(head.width)) {
    for (const SoftmaxGradientForm& softmax : softmax_gradient_forms(false)) {
      for (const ChainForm& products : chains_of(head.keys)) forms.push_back({weights, softmax, products});
    }
  }
  return forms;
}

std::vector<ChainForm> share_forms(const AttentionHead& head) { return chains_of(head.queries); }

std::string steps_text(const StepsForm& form) {
  return "attention in steps scores=" + chain_text(form.scores) + " " + softmax_text(form.softmax) +
         " values=" + chain_text(form.values);
}

std::string steps_text(const StepsGradientForm& form) {
  return "dattention in steps weights=" + chain_text(form.weights) + " " + softmax_text(form.softmax) +
         " products=" + chain_text(form.products);
}

std::string share_text(const ChainForm& form) { return "dattention in steps products=" + chain_text(form); }

std::string steps_shape(const StepsForm& form) {
  return "in steps: scores " + chain_shape(form.scores) + "; " + softmax_shape(form.softmax) + "; values " +
         chain_shape(form.values);
}

std::string steps_shape(const StepsGradientForm& form) {
  return "gradient in steps: dy v " + chain_shape(form.weights) + "; " + softmax_shape(form.softmax) + "; products " +
         chain_shape(form.products);
}

std::string share_shape(const ChainForm& form) { return "products " + chain_shape(form); }

bool is_steps_text(std::string_view text) {
  constexpr std::size_t kLongest = 400;
  if (text.size() > kLongest) return false;
  static const std::regex kText = [] {
    const std::string chain = "[fr](0|[1-9][0-9]{0,5})";
    const std::string lanes = "lanes=(8|16|8 in turn)";
    const std::string then(kThen);
    const std::string y = "attention in steps scores=" + chain + " softmax exp=(sleef|short|libm-[0-9]+(\\.[0-9]+)*) " +
                          lanes + " (times|divided) values=" + chain;
    const std::string dq =
        "dattention in steps weights=" + chain + " dsoftmax " + lanes + " sums=[fr][fr] products=" + chain;
    const std::string share = "dattention in steps products=" + chain;
    return std::regex(y + "(" + then + dq + ")?(" + then + share + ")?", std::regex::optimize);
  }();
  return std::regex_match(text.begin(), text.end(), kText);
}

}  // namespace reprobench
