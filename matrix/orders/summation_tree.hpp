// The order in which a call adds the terms of one sum: a tree of additions.
//
//   (0..3)          ((t0 + t1) + t2) + t3
//   (0..3f)         the same; each product but the first joins unrounded, as in a fused multiply-add
//   (0 2f (1 3f))   two chains of two, and their sum
//
// Floating-point addition is commutative, so the text orders the two sides of every addition in one way. Equal texts
// are equal orders, and equal orders give equal bits for every input of that shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

struct OrderNode {
  static constexpr std::int32_t kNone = -1;

  std::int32_t term = kNone;  // for a leaf: its number
  bool fused = false;         // for a leaf: its product is added without being rounded before
  // For an addition: its two sides, by their places. Both come before it.
  std::int32_t left = kNone;
  std::int32_t right = kNone;

  bool is_leaf() const { return term != kNone; }
  friend bool operator==(const OrderNode&, const OrderNode&) = default;
};

// The last node is the whole sum. Every term is in it once.
struct SummationTree {
  std::vector<OrderNode> nodes;

  std::size_t terms() const { return (nodes.size() + 1) / 2; }
  bool empty() const { return nodes.empty(); }

  std::int32_t add_leaf(std::int32_t term, bool fused = false);
  std::int32_t add_sum(std::int32_t left, std::int32_t right);
};

// The canonical text, in the form above. "0..6/2f" is 0, 2f, 4f, 6f one after the other. The first term of a chain has
// nothing to be fused onto, so its mark is left out.
std::string order_text(const SummationTree& order);

// Reads such a text, with terms 0 to N-1 once each; throws a ContractError that says where it is wrong.
SummationTree parse_order(std::string_view text);

// The order for people: "16 chains of 48, fused, then pairwise". Two orders may have one description.
std::string order_shape(const SummationTree& order);

// The largest number of additions on the way from a term to the result.
std::int64_t order_depth(const SummationTree& order);

}  // namespace reprobench
