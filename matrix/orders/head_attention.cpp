#include "matrix/orders/head_attention.hpp"

#include <cmath>
#include <limits>

namespace reprobench {
namespace {

float dot(std::span<const float> a, std::span<const float> b, const ChainForm& form) {
  return chain_sum(
      a.size(), form, [&](std::size_t i) { return a[i]; }, [&](std::size_t i) { return b[i]; });
}

// `fused` away from the edges of the query's block.
ChainForm chain_of_query(const AttentionHead& head, std::size_t query, const TiledForm& form, bool fused) {
  const std::size_t size = queries_of_block(head.queries);
  const std::size_t first = query / size * size;
  return form.chain(fused, query - first, std::min(size, head.queries - first));
}

float score(const AttentionHead& head, std::size_t query, std::size_t key, const ScoreForm& form) {
  const std::span<const float> q = head.row(head.q, query);
  const std::span<const float> k = head.row(head.k, key);
  const ChainForm chain = chain_of_query(head, query, form.products, form.fused);
  if (!form.is_key_scaled) return dot(q, k, chain) * head.scale;
  return chain_sum(
      q.size(), chain, [&](std::size_t i) { return q[i]; }, [&](std::size_t i) { return k[i] * head.scale; });
}

// Turns the scores that a query sees into weights; behind these the block is 0. Returns the sum of all.
float weights_of_block(std::span<float> block, std::size_t seen, float largest, const WeightsForm& form) {
  const auto lanes = static_cast<std::size_t>(form.lanes.lanes);
  const std::size_t whole = form.is_rest_in_fp64 ? block.size() / lanes * lanes : block.size();
  for (std::size_t i = 0; i < seen; ++i) {
    const float x = block[i] - largest;
    block[i] = i < whole ? exponential(form.functions, x) : static_cast<float>(std::exp(static_cast<double>(x)));
  }
  float sum = whole == 0 ? 0 : lane_sum(block.first(whole), form.lanes);
  for (const float weight : block.subspan(whole)) sum += weight;
  return sum;
}

// What the backward pass knows of one query and one key.
float weight_again(const AttentionGradients& of, std::size_t query, std::size_t key,
                   const AttentionGradientForm& form) {
  return exponential(form.functions, score(of.head, query, key, form.scores) - of.log_sums[query]);
}

float dy_times_y(const AttentionGradients& of, std::size_t query, const AttentionGradientForm& form) {
  const std::span<const float> dy = of.head.row(of.dy, query);
  const std::span<const float> y = of.head.row(of.y, query);
  return lane_sum_of_products(
      dy.size(), form.lanes, [&](std::size_t i) { return dy[i]; }, [&](std::size_t i) { return y[i]; });
}

float score_gradient(const AttentionGradients& of, std::size_t query, std::size_t key, float dy_y,
                     const AttentionGradientForm& form) {
  const float of_weight = dot(of.head.row(of.dy, query), of.head.row(of.head.v, key),
                              chain_of_query(of.head, query, form.scores.products, form.scores.fused));
  return weight_again(of, query, key, form) * (of_weight - dy_y);
}

// Adds factors times rows (first, first + 1, ...) of a tensor to a gradient, as a BLAS library does with beta = 1.
void add_rows(const AttentionHead& head, std::span<const float> factors, std::span<const float> tensor,
              std::size_t first, const AttentionGradientForm& form, const ChainForm& chain, float scale,
              std::span<float> gradient) {
  const bool scales_factors = form.scale == GradientScale::factors;
  for (std::size_t at = 0; at < head.width; ++at) {
    const float sum = chain_sum(
        factors.size(), chain, [&](std::size_t i) { return factors[i]; },
        [&](std::size_t i) {
          const float x = tensor[(first + i) * head.width + at];
          return scales_factors ? x * scale : x;
        });
    if (scales_factors) {
      gradient[at] += sum;
    } else {
      gradient[at] = multiply_add(form.scale == GradientScale::fused, scale, sum, gradient[at]);
    }
  }
}

// Over the queries that see a key, by blocks; `of_query` gives the factor of each.
template <typename OfQuery>
void add_queries(const AttentionGradients& of, std::size_t key, std::span<const float> tensor,
                 const AttentionGradientForm& form, float scale, std::span<float> gradient, OfQuery&& of_query) {
  const std::size_t of_keys = key / kKeysOfBlock * kKeysOfBlock;
  const ChainForm chain =
      form.products.chain(form.scores.fused, key - of_keys, std::min(kKeysOfBlock, of.head.keys - of_keys));
  const std::size_t size = queries_of_block(of.head.queries);
  for (std::size_t first = 0; first < of.head.queries; first += size) {
    std::vector<float> factors(std::min(size, of.head.queries - first));
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (key < of.head.keys_of(first + i)) factors[i] = of_query(first + i);
    }
    add_rows(of.head, factors, tensor, first, form, chain, scale, gradient);
  }
}

// Rows that come in blocks, of which the last may be shorter.
struct Blocks {
  std::size_t rows = 0;
  std::size_t size = 0;
};

bool have_edges(const Blocks& blocks) {
  const auto has_edge = [](std::size_t rows) { return rows % 6 % 4 != 0; };
  return has_edge(std::min(blocks.rows, blocks.size)) || has_edge(blocks.rows % blocks.size);
}

Blocks query_blocks(const AttentionHead& head) { return {head.queries, queries_of_block(head.queries)}; }

std::vector<TiledForm> tiled_forms(std::size_t terms, const Blocks& rows) {
  std::vector<TiledForm> forms;
  for (const std::size_t piece : pieces_of(terms)) {
    forms.push_back({piece, false});
    if (have_edges(rows)) forms.push_back({piece, true});
  }
  return forms;
}

bool is_power_of_two(float x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5F;
}

std::vector<ScoreForm> score_forms(const AttentionHead& head) {
  std::vector<ScoreForm> forms;
  for (const TiledForm& products : tiled_forms(head.width, query_blocks(head))) {
    for (const bool fused : {true, false}) {
      forms.push_back({products, fused, false});
      if (!is_power_of_two(head.scale)) forms.push_back({products, fused, true});
    }
  }
  return forms;
}

// Whether nothing is left over behind whole vectors.
bool is_whole(std::size_t terms, const LaneForm& lanes) { return terms % static_cast<std::size_t>(lanes.lanes) == 0; }

}  // namespace

// One chain, or two to four pieces, equal or rounded up to what a register or a line of the cache holds.
std::vector<std::size_t> pieces_of(std::size_t terms) {
  constexpr std::size_t kOneChain = 128;
  std::vector<std::size_t> pieces = {0};
  for (std::size_t count = 2; terms > kOneChain && count <= 4; ++count) {
    const std::size_t equal = (terms + count - 1) / count;
    for (const std::size_t multiple : {1U, 4U, 8U, 16U}) {
      const std::size_t piece = (equal + multiple - 1) / multiple * multiple;
      if (std::ranges::find(pieces, piece) == pieces.end()) pieces.push_back(piece);
    }
  }
  return pieces;
}

std::size_t queries_of_block(std::size_t queries) {
  if (queries >= 768) return 256;
  return queries >= 192 ? 64 : 32;
}

float attend(const AttentionHead& head, std::size_t query, const AttentionForm& form, std::span<float> y) {
  const ChainForm chain = chain_of_query(head, query, form.values, form.weights.scores.fused);
  float largest = -std::numeric_limits<float>::infinity();
  float sum = 0;
  for (std::size_t first = 0; first < head.keys_of(query); first += kKeysOfBlock) {
    std::vector<float> weights(std::min(kKeysOfBlock, head.keys - first));
    const std::size_t seen = std::min(weights.size(), head.keys_of(query) - first);
    float next = largest;
    for (std::size_t i = 0; i < seen; ++i) {
      weights[i] = score(head, query, first + i, form.weights.scores);
      next = std::max(next, weights[i]);
    }
    const float of_block = weights_of_block(weights, seen, next, form.weights);
    const float fade = std::exp(largest - next);
    sum = multiply_add(form.weights.blocks_fused, fade, sum, of_block);
    largest = next;
    if (form.is_divided_first) {
      for (float& weight : weights) weight /= sum;
    }
    for (std::size_t at = 0; at < y.size(); ++at) {
      const float values = chain_sum(
          weights.size(), chain, [&](std::size_t i) { return weights[i]; },
          [&](std::size_t i) { return head.v[(first + i) * head.width + at]; });
      y[at] = first == 0 ? values : y[at] * fade + values;
    }
  }
  if (!form.is_divided_first) {
    const float inverse = 1 / sum;
    for (float& one : y) one *= inverse;
  }
  return largest + std::log(sum);
}

void query_gradient(const AttentionGradients& of, std::size_t query, const AttentionGradientForm& form,
                    std::span<float> dq) {
  const AttentionHead& head = of.head;
  const ChainForm chain = chain_of_query(head, query, form.products, form.scores.fused);
  const float dy_y = dy_times_y(of, query, form);
  std::ranges::fill(dq, 0.0F);
  for (std::size_t first = 0; first < head.keys_of(query); first += kKeysOfBlock) {
    std::vector<float> factors(std::min(kKeysOfBlock, head.keys - first));
    for (std::size_t i = 0; i < std::min(factors.size(), head.keys_of(query) - first); ++i) {
      factors[i] = score_gradient(of, query, first + i, dy_y, form);
    }
    add_rows(head, factors, head.k, first, form, chain, head.scale, dq);
  }
}

void key_gradient(std::span<const AttentionGradients> group, std::size_t key, const AttentionGradientForm& form,
                  std::span<float> dk) {
  std::ranges::fill(dk, 0.0F);
  for (const AttentionGradients& of : group) {
    add_queries(of, key, of.head.q, form, of.head.scale, dk,
                [&](std::size_t query) { return score_gradient(of, query, key, dy_times_y(of, query, form), form); });
  }
}

void value_gradient(std::span<const AttentionGradients> group, std::size_t key, const AttentionGradientForm& form,
                    std::span<float> dv) {
  std::ranges::fill(dv, 0.0F);
  for (const AttentionGradients& of : group) {
    add_queries(of, key, of.dy, form, 1, dv, [&](std::size_t query) { return weight_again(of, query, key, form); });
  }
}

std::vector<WeightsForm> weights_forms(const AttentionHead& head) {
  std::vector<WeightsForm> forms;
  for (const ScoreForm& scores : score_forms(head)) {
    for (const Functions functions : kFunctions) {
      for (const LaneForm& lanes : lane_forms(false)) {
        for (const bool rest : {true, false}) {
          if (!rest && is_whole(head.keys, lanes)) continue;
          forms.push_back({scores, functions, lanes, rest, true});
          if (head.keys > kKeysOfBlock) forms.push_back({scores, functions, lanes, rest, false});
        }
      }
    }
  }
  return forms;
}

std::vector<AttentionForm> attention_forms(const AttentionHead& head, const WeightsForm& weights) {
  std::vector<AttentionForm> forms;
  for (const TiledForm& values : tiled_forms(std::min(head.keys, kKeysOfBlock), query_blocks(head))) {
    forms.push_back({weights, values, false});
    if (head.keys <= kKeysOfBlock) forms.push_back({weights, values, true});
  }
  return forms;
}

std::vector<AttentionGradientForm> attention_gradient_forms(const AttentionHead& head, AttentionInput of) {
  const bool is_of_query = of == AttentionInput::query;
  const Blocks rows = is_of_query ? query_blocks(head) : Blocks{head.keys, kKeysOfBlock};
  const Blocks summed = is_of_query ? Blocks{head.keys, kKeysOfBlock} : query_blocks(head);
  const bool are_added = summed.rows > summed.size || (head.are_keys_shared && !is_of_query);
  std::vector<GradientScale> scales = {GradientScale::after};
  if (are_added) scales.push_back(GradientScale::fused);
  scales.push_back(GradientScale::factors);
  std::vector<AttentionGradientForm> forms;
  for (const ScoreForm& scores : score_forms(head)) {
    for (const Functions functions : kFunctions) {
      for (const TiledForm& products : tiled_forms(std::min(summed.rows, summed.size), rows)) {
        if (of == AttentionInput::value) {
          forms.push_back({scores, functions, {}, GradientScale::after, products});
          continue;
        }
        for (const LaneForm& lanes : lane_forms(true)) {
          if (lanes.fused != lanes.rest_fused && is_whole(head.width, lanes)) continue;
          for (const GradientScale scale : scales) forms.push_back({scores, functions, lanes, scale, products});
        }
      }
    }
  }
  return forms;
}

}  // namespace reprobench
