#include "matrix/orders/order_recovery.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

#include "kernels/philox/philox.hpp"

namespace reprobench {
namespace {

struct NoOrder : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Recovery {
 public:
  Recovery(std::int32_t terms, std::int32_t products, const BlackBox& box, const RecoveryLimits& limits)
      : terms_(terms), products_(products), box_(box), limits_(limits) {}

  std::int64_t questions() const { return questions_; }

  SummationTree run() {
    std::vector<std::int32_t> all(static_cast<std::size_t>(terms_));
    std::iota(all.begin(), all.end(), 0);
    build(all);
    mark_fused();
    return std::move(order_);
  }

 private:
  std::vector<double> ask(const std::vector<Question>& questions) {
    questions_ += static_cast<std::int64_t>(questions.size());
    if (questions_ > limits_.questions) throw NoOrder("more than " + std::to_string(limits_.questions) + " probes");
    if (questions.empty()) return {};
    return box_(questions);
  }

  // A term in the middle of neither the set nor the box's own blocks: the first or last of a chain would have to be
  // asked against all others on every level.
  std::size_t pivot(std::size_t size) { return philox4x32_10({{pivots_++, 0, 0, 0}}, {{0, 0}}).word[0] % size; }

  // Terms by the size of the smallest partial sum that they share with `term`.
  std::map<std::int32_t, std::vector<std::int32_t>> shared_sizes(std::int32_t term,
                                                                 const std::vector<std::int32_t>& others) {
    std::vector<Question> questions;
    questions.reserve(others.size());
    for (const std::int32_t other : others) questions.push_back({Question::Kind::outside, term, other});
    const std::vector<double> answers = ask(questions);
    std::map<std::int32_t, std::vector<std::int32_t>> by_size;
    for (std::size_t i = 0; i < others.size(); ++i) {
      const double left = answers.at(i);
      if (!(left >= 0 && left <= terms_ - 2) || left != std::floor(left)) {
        throw NoOrder("it is no sum of these terms: terms " + std::to_string(term) + " and " +
                      std::to_string(others[i]) + " cancel, and of " + std::to_string(terms_ - 2) + " ones " +
                      std::to_string(left) + " are left");
      }
      by_size[terms_ - static_cast<std::int32_t>(left)].push_back(others[i]);
    }
    return by_size;
  }

  // Adds the partial sum of exactly these terms and returns its node.
  std::int32_t build(const std::vector<std::int32_t>& terms) {
    const std::size_t at = pivot(terms.size());
    std::int32_t node = order_.add_leaf(terms[at]);
    if (terms.size() == 1) return node;
    std::vector<std::int32_t> others = terms;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
    std::int32_t size = 1;
    for (const auto& [shared, joined] : shared_sizes(terms[at], others)) {
      size += static_cast<std::int32_t>(joined.size());
      if (size != shared) {
        throw NoOrder("it is no tree of additions of two: " + std::to_string(size) + " terms share a partial sum of " +
                      std::to_string(shared));
      }
      const std::int32_t other = build(joined);
      node = order_.add_sum(node, other);
    }
    return node;
  }

  std::int32_t some_term(std::int32_t node) const {
    while (!order_.nodes[static_cast<std::size_t>(node)].is_leaf()) {
      node = order_.nodes[static_cast<std::size_t>(node)].left;
    }
    return order_.nodes[static_cast<std::size_t>(node)].term;
  }

  // Tests every leaf against a term of the sum that it is added to.
  void mark_fused() {
    std::vector<Question> questions;
    std::vector<std::pair<std::int32_t, std::int32_t>> sides;  // of each question, as nodes
    for (const OrderNode& node : order_.nodes) {
      if (node.is_leaf()) continue;
      for (const auto& [one, other] : {std::pair(node.left, node.right), std::pair(node.right, node.left)}) {
        const OrderNode& leaf = order_.nodes[static_cast<std::size_t>(one)];
        if (!leaf.is_leaf() || leaf.term >= products_) continue;
        questions.push_back({Question::Kind::fused, leaf.term, some_term(other)});
        sides.emplace_back(one, other);
      }
    }
    const std::vector<double> answers = ask(questions);
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const bool is_leaf_beside = order_.nodes[static_cast<std::size_t>(sides[i].second)].is_leaf();
      // Below 0 the other one was fused onto this: its own question says so too, if it is a leaf.
      if (answers.at(i) < 0 && !is_leaf_beside) {
        throw NoOrder("term " + std::to_string(questions[i].second) + " joins term " +
                      std::to_string(questions[i].first) + " unrounded, after it had joined others");
      }
      if (std::isnan(answers[i])) throw NoOrder("a product of two numbers near 1 is NaN");
      order_.nodes[static_cast<std::size_t>(sides[i].first)].fused = answers[i] > 0;
    }
  }

  std::int32_t terms_;
  std::int32_t products_;
  const BlackBox& box_;
  const RecoveryLimits& limits_;
  std::int64_t questions_ = 0;
  std::uint32_t pivots_ = 0;  // drawn so far: the same questions on every stack
  SummationTree order_;
};

}  // namespace

RecoveredOrder recover_order(std::int32_t terms, std::int32_t products, const BlackBox& box,
                             const RecoveryLimits& limits) {
  RecoveredOrder recovered;
  if (terms <= 0) {
    recovered.problem = "a sum of no terms";
    return recovered;
  }
  Recovery recovery(terms, products, box, limits);
  try {
    recovered.order = recovery.run();
  } catch (const NoOrder& none) {
    recovered.problem = none.what();
  }
  recovered.questions = recovery.questions();
  return recovered;
}

}  // namespace reprobench
