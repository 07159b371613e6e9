// Attention of one head and its gradients in fp32, rounding by rounding, as ATen computes them on a CPU
// (ATen/native/cpu/FlashAttentionKernel.cpp).
//
// A query meets its keys by blocks of 512. Scores are products of the BLAS library; then exponentials are added in the
// lanes of a vector, as in a softmax, and weight the values:
//
//   score = scale (q . k)      weight = e^(score - largest)      y = (sum of weight v) (1 / sum of weights)
//
// Behind a block with a larger score, what was added before fades by e^(largest - larger). The backward pass takes
// weights again from log(sum) + largest, and adds up queries by blocks of 32, 64 or 256.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/orders/chain_sum.hpp"
#include "matrix/orders/lane_sum.hpp"
#include "matrix/orders/vector_functions.hpp"

namespace reprobench {

inline constexpr std::size_t kKeysOfBlock = 512;
// The longer a sequence, the more queries a block has.
std::size_t queries_of_block(std::size_t queries);

// All row-major: q (queries, width), k and v (keys, width).
struct AttentionHead {
  std::span<const float> q, k, v;
  std::size_t queries = 0;
  std::size_t keys = 0;
  std::size_t width = 0;
  bool is_causal = false;
  float scale = 1;
  float root_of_scale = 1;       // of the scale in fp64
  bool are_keys_shared = false;  // by several heads of queries

  // A causal query sees the keys up to its own place.
  std::size_t keys_of(std::size_t query) const { return is_causal ? std::min(keys, query + 1) : keys; }
  std::span<const float> row(std::span<const float> of, std::size_t at) const { return of.subspan(at * width, width); }
};

// Products of whole rows of a matrix by tiles of six rows and of four. Rows that fill no tile may be computed by other
// code, which adds in strands and fuses nothing (MKL on CPUs without AVX-512).
struct TiledForm {
  std::size_t piece = 0;
  bool edges_in_strands = false;

  ChainForm chain(bool fused, std::size_t row, std::size_t rows) const {
    const std::size_t left = rows % 6;
    const bool is_edge = edges_in_strands && row >= rows - left % 4;
    return {piece, fused && !is_edge, is_edge};
  }

  friend bool operator==(const TiledForm&, const TiledForm&) = default;
};

// The products that make scores. The scale is multiplied with their sum, or with each element of the key before.
struct ScoreForm {
  TiledForm products;
  bool fused = true;
  bool is_key_scaled = false;

  friend bool operator==(const ScoreForm&, const ScoreForm&) = default;
};

struct WeightsForm {
  ScoreForm scores;
  Functions functions = Functions::short_series;
  LaneForm lanes;                // without products
  bool is_rest_in_fp64 = false;  // behind the last vector the C library's exponential in fp64, added one by one
  bool blocks_fused = false;     // the fading of what other blocks added

  friend bool operator==(const WeightsForm&, const WeightsForm&) = default;
};

struct AttentionForm {
  WeightsForm weights;
  TiledForm values;               // the sum over values, fused as scores are
  bool is_divided_first = false;  // each weight by the sum, and not the result; of one block alone

  friend bool operator==(const AttentionForm&, const AttentionForm&) = default;
};

// Where the scale meets the gradient of q or k: the sum of products before it is added, rounded or not, or the factors.
enum class GradientScale { after, fused, factors };

struct AttentionGradientForm {
  ScoreForm scores;
  Functions functions = Functions::sleef;
  LaneForm lanes;  // of dy . y
  GradientScale scale = GradientScale::after;
  TiledForm products;  // the sum over keys or queries

  friend bool operator==(const AttentionGradientForm&, const AttentionGradientForm&) = default;
};

// Returns largest + log(sum), and writes `width` numbers into `y`; an empty one is left out.
float attend(const AttentionHead& head, std::size_t query, const AttentionForm& form, std::span<float> y);

struct AttentionGradients {
  AttentionHead head;
  std::span<const float> dy, y;     // (queries, width)
  std::span<const float> log_sums;  // (queries)
};
void query_gradient(const AttentionGradients& of, std::size_t query, const AttentionGradientForm& form,
                    std::span<float> dq);
// Several heads of queries may share one of keys and values: their shares are added one behind the other.
void key_gradient(std::span<const AttentionGradients> group, std::size_t key, const AttentionGradientForm& form,
                  std::span<float> dk);
void value_gradient(std::span<const AttentionGradients> group, std::size_t key, const AttentionGradientForm& form,
                    std::span<float> dv);

// The pieces that a BLAS library may cut a sum of so many products into; 0 is one chain.
std::vector<std::size_t> pieces_of(std::size_t terms);

// All that is known to be used, in the same order on every stack. Forms that no input of these sizes tells apart are
// listed once.
std::vector<WeightsForm> weights_forms(const AttentionHead& head);
// The ends of a form, with the weights of any: how values are added and divided.
std::vector<AttentionForm> attention_forms(const AttentionHead& head, const WeightsForm& weights);
enum class AttentionInput { query, key, value };
std::vector<AttentionGradientForm> attention_gradient_forms(const AttentionHead& head, AttentionInput of);

//   attention scores=f0 edges=1 scale=after exp=short lanes=16 rest=fp64 blocks=f
//   values=256 edges=1 times
//   dattention scores=f0 edges=2 scale=after exp=sleef lanes=16 sums=rr gradient=after products=0 edges=2
std::string attention_text(const WeightsForm& form);
std::string values_text(const AttentionForm& form);
std::string attention_text(const AttentionGradientForm& form, AttentionInput of);
std::string attention_shape(const WeightsForm& form);
std::string values_shape(const AttentionForm& form);
std::string attention_shape(const AttentionGradientForm& form, AttentionInput of);

// Whether a text is one of these, or those of weights, values and a gradient behind each other.
bool is_attention_text(std::string_view text);

}  // namespace reprobench
