#include "matrix/orders/summation_tree.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>
#include <utility>

#include "matrix/base/contract_error.hpp"

namespace reprobench {
namespace {

constexpr int kDeepestText = 64;  // a chain is one level, so a text of N terms has at most log2(N) of them
constexpr std::int64_t kMostTerms = 1 << 20;

// Facts of every node, filled in one pass: its sides come before it.
struct NodeFacts {
  std::int32_t terms = 1;
  std::int32_t depth = 0;
  std::int32_t first_term = 0;
};

std::vector<NodeFacts> facts_of(const SummationTree& order) {
  std::vector<NodeFacts> facts(order.nodes.size());
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    const OrderNode& node = order.nodes[i];
    if (node.is_leaf()) {
      facts[i].first_term = node.term;
      continue;
    }
    const NodeFacts& left = facts[static_cast<std::size_t>(node.left)];
    const NodeFacts& right = facts[static_cast<std::size_t>(node.right)];
    facts[i] = {left.terms + right.terms, std::max(left.depth, right.depth) + 1,
                std::min(left.first_term, right.first_term)};
  }
  return facts;
}

// A chain is written from its heavier end, so that nesting stays logarithmic. `spine` is the side that it goes on with.
struct Sides {
  std::int32_t spine;
  std::int32_t joined;
};

Sides sides_of(const SummationTree& order, const std::vector<NodeFacts>& facts, const OrderNode& node) {
  const auto rank = [&](std::int32_t side) {
    const NodeFacts& one = facts[static_cast<std::size_t>(side)];
    const OrderNode& what = order.nodes[static_cast<std::size_t>(side)];
    // If both are leaves, the fused one joins the other.
    return std::tuple(-one.terms, -one.depth, what.is_leaf() && what.fused, one.first_term);
  };
  return rank(node.left) <= rank(node.right) ? Sides{node.left, node.right} : Sides{node.right, node.left};
}

// The nodes that are added one after the other, from the innermost on.
std::vector<std::int32_t> chain_of(const SummationTree& order, const std::vector<NodeFacts>& facts, std::int32_t top) {
  std::vector<std::int32_t> chain;
  while (!order.nodes[static_cast<std::size_t>(top)].is_leaf()) {
    const Sides sides = sides_of(order, facts, order.nodes[static_cast<std::size_t>(top)]);
    chain.push_back(sides.joined);
    top = sides.spine;
  }
  chain.push_back(top);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

// The longest run of leaves from `at` on whose numbers grow by one step, all but the chain's first marked alike.
struct LeafRun {
  std::size_t count = 1;
  std::int32_t step = 1;
  bool fused = false;
};

LeafRun leaf_run(const SummationTree& order, const std::vector<std::int32_t>& chain, std::size_t at) {
  const auto leaf = [&](std::size_t i) -> const OrderNode& { return order.nodes[static_cast<std::size_t>(chain[i])]; };
  LeafRun run{1, 1, leaf(at).fused};
  if (at + 1 >= chain.size() || !leaf(at + 1).is_leaf()) return run;
  if (at == 0) run.fused = leaf(1).fused;
  if (leaf(at + 1).fused != run.fused) return {1, 1, leaf(at).fused};
  run.step = leaf(at + 1).term - leaf(at).term;
  if (run.step <= 0) return {1, 1, leaf(at).fused && at > 0};
  while (at + run.count < chain.size() && leaf(at + run.count).is_leaf() && leaf(at + run.count).fused == run.fused &&
         leaf(at + run.count).term - leaf(at + run.count - 1).term == run.step) {
    ++run.count;
  }
  return run;
}

void write(const SummationTree& order, const std::vector<NodeFacts>& facts, std::int32_t top, std::string& text) {
  const std::vector<std::int32_t> chain = chain_of(order, facts, top);
  if (chain.size() > 1) text += '(';
  for (std::size_t at = 0; at < chain.size();) {
    if (at > 0) text += ' ';
    const OrderNode& node = order.nodes[static_cast<std::size_t>(chain[at])];
    if (!node.is_leaf()) {
      write(order, facts, chain[at++], text);
      continue;
    }
    LeafRun run = leaf_run(order, chain, at);
    if (run.count == 2) run = {1, 1, node.fused && at > 0};
    text += std::to_string(node.term);
    if (run.count > 1) {
      text += ".." + std::to_string(order.nodes[static_cast<std::size_t>(chain[at + run.count - 1])].term);
      if (run.step != 1) text += "/" + std::to_string(run.step);
    }
    if (run.fused) text += 'f';
    at += run.count;
  }
  if (chain.size() > 1) text += ')';
}

class OrderParser {
 public:
  explicit OrderParser(std::string_view text) : text_(text) {}

  SummationTree whole() {
    item(0, OrderNode::kNone);
    if (at_ != text_.size()) fail("more than one sum");
    std::vector<bool> seen(terms_);
    for (const OrderNode& node : order_.nodes) {
      if (!node.is_leaf()) continue;
      const auto term = static_cast<std::size_t>(node.term);
      if (term >= seen.size() || seen[term]) fail("terms are not 0 to N-1, each once");
      seen[term] = true;
    }
    return std::move(order_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ContractError("an order of summation has " + what + " at character " + std::to_string(at_ + 1));
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 0 || value > kMostTerms) fail("no number of a term");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::int32_t joined(std::int32_t sum, std::int32_t next) {
    return sum == OrderNode::kNone ? next : order_.add_sum(sum, next);
  }

  // Adds what stands here to `sum`, and returns the new one.
  std::int32_t item(int depth, std::int32_t sum) {
    if (depth > kDeepestText) fail("more than 64 levels");
    if (take('(')) {
      std::int32_t inner = OrderNode::kNone;
      do {
        inner = item(depth + 1, inner);
      } while (take(' '));
      if (!take(')')) fail("no `)`");
      return joined(sum, inner);
    }
    const std::int64_t first = number();
    std::int64_t last = first;
    std::int64_t step = 1;
    if (take('.')) {
      if (!take('.')) fail("one dot");
      last = number();
      if (take('/')) step = number();
      if (step == 0 || last <= first || (last - first) % step != 0) fail("a range that does not end");
    }
    const bool fused = take('f');
    for (std::int64_t term = first; term <= last; term += step) {
      if (++terms_ > static_cast<std::size_t>(kMostTerms)) fail("too many terms");
      const bool is_first = sum == OrderNode::kNone;
      sum = joined(sum, order_.add_leaf(static_cast<std::int32_t>(term), fused && !is_first));
    }
    return sum;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t terms_ = 0;
  SummationTree order_;
};

std::string count_text(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

std::int32_t SummationTree::add_leaf(std::int32_t term, bool fused) {
  nodes.push_back({term, fused, OrderNode::kNone, OrderNode::kNone});
  return static_cast<std::int32_t>(nodes.size() - 1);
}

std::int32_t SummationTree::add_sum(std::int32_t left, std::int32_t right) {
  nodes.push_back({OrderNode::kNone, false, left, right});
  return static_cast<std::int32_t>(nodes.size() - 1);
}

std::string order_text(const SummationTree& order) {
  std::string text;
  if (!order.empty()) write(order, facts_of(order), static_cast<std::int32_t>(order.nodes.size() - 1), text);
  return text;
}

SummationTree parse_order(std::string_view text) { return OrderParser(text).whole(); }

std::int64_t order_depth(const SummationTree& order) { return order.empty() ? 0 : facts_of(order).back().depth; }

namespace {

// How partial sums are put together, by the longest way from one of them to the result.
struct Shape {
  std::int64_t chains = 0;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t longest = 0;
  std::int64_t fused = 0;
  std::int64_t leaves = 0;
};

}  // namespace

std::string order_shape(const SummationTree& order) {
  if (order.terms() <= 1) return count_text(static_cast<std::int64_t>(order.terms()), "term", "terms");
  const std::vector<NodeFacts> facts = facts_of(order);
  // A node is a chain's top if nothing but leaves were joined below it, and more than a leaf is joined above.
  std::vector<bool> is_chain(order.nodes.size());
  std::vector<std::int32_t> levels(order.nodes.size(), 0);  // additions of partial sums above the chains
  Shape shape;
  const auto count_chain = [&](std::size_t top) {
    ++shape.chains;
    shape.shortest = std::min<std::int64_t>(shape.shortest, facts[top].terms);
    shape.longest = std::max<std::int64_t>(shape.longest, facts[top].terms);
  };
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    const OrderNode& node = order.nodes[i];
    if (node.is_leaf()) {
      is_chain[i] = true;
      ++shape.leaves;
      shape.fused += node.fused ? 1 : 0;
      continue;
    }
    const Sides sides = sides_of(order, facts, node);
    const auto spine = static_cast<std::size_t>(sides.spine);
    const auto joined = static_cast<std::size_t>(sides.joined);
    is_chain[i] = is_chain[spine] && order.nodes[joined].is_leaf();
    if (is_chain[i]) continue;
    for (const std::size_t side : {spine, joined}) {
      if (is_chain[side]) count_chain(side);
    }
    levels[i] = std::max(levels[spine], levels[joined]) + 1;
  }
  if (is_chain.back()) count_chain(order.nodes.size() - 1);

  std::string text = count_text(shape.chains, "chain of ", "chains of ") + std::to_string(shape.shortest);
  if (shape.longest != shape.shortest) text += " to " + std::to_string(shape.longest);
  if (shape.fused + shape.chains >= shape.leaves && shape.fused > 0) {
    text += ", fused";
  } else if (shape.fused > 0) {
    text += ", " + std::to_string(shape.fused) + " of " + std::to_string(shape.leaves) + " fused";
  }
  if (shape.chains == 1) return text;
  const std::int32_t most = levels.back();
  std::int32_t pairwise = 0;
  while ((std::int64_t{1} << pairwise) < shape.chains) ++pairwise;
  if (shape.chains == 2) return text + ", then their sum";
  if (most == pairwise) return text + ", then pairwise";
  if (most == shape.chains - 1) return text + ", then one after the other";
  return text + ", then in " + std::to_string(most) + " levels";
}

}  // namespace reprobench
