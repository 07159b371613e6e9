// A black box for tests: it computes the sum of each question in a given order, in fp32.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/philox/philox.hpp"
#include "matrix/orders/order_recovery.hpp"
#include "matrix/orders/order_replay.hpp"

namespace reprobench {

inline float sum_of(const SummationTree& order, const SumOperands<float>& operands) {
  std::vector<float> partial_sums;
  return sum_in_order(order, operands, partial_sums);
}

inline float answer_in_order(const SummationTree& order, std::int32_t products, const Question& question) {
  const std::size_t terms = order.terms();
  const bool is_outside = question.kind == Question::Kind::outside;
  const float tiny = 1.0F + 0x1p-13F;
  std::vector<float> left(terms, is_outside ? 1.0F : 0.0F);
  std::vector<float> right(terms, is_outside ? 1.0F : tiny);
  const auto at = [&](std::int32_t term) { return static_cast<std::size_t>(term); };
  const float rounded = tiny * tiny;
  const auto small = [&](std::int32_t term) { return term < products ? tiny : rounded; };
  left[at(question.first)] = is_outside ? 0x1p60F : small(question.first);
  left[at(question.second)] = is_outside ? -0x1p60F : -small(question.second);
  return sum_of(order, {left, right, products});
}

inline BlackBox box_of(const SummationTree& order, std::int32_t products) {
  return [&order, products](std::span<const Question> questions) {
    std::vector<double> answers;
    for (const Question& question : questions) answers.push_back(answer_in_order(order, products, question));
    return answers;
  };
}

// A random tree of `terms` leaves, in which each product beside another sum is fused with probability one half.
inline SummationTree order_by_chance(std::uint64_t seed, std::int32_t terms) {
  SummationTree order;
  std::vector<std::int32_t> open;
  std::uint64_t count = 0;
  const auto chance = [&](std::uint64_t below) {
    const PhiloxBlock block =
        philox4x32_10({{static_cast<std::uint32_t>(count++), 0, 0, 0}}, {{static_cast<std::uint32_t>(seed), 7}});
    return static_cast<std::size_t>(block.word[0] % below);
  };
  for (std::int32_t term = 0; term < terms; ++term) open.push_back(order.add_leaf(term));
  while (open.size() > 1) {
    const std::size_t one = chance(open.size());
    std::int32_t left = open[one];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(one));
    const std::size_t other = chance(open.size());
    std::int32_t right = open[other];
    auto& nodes = order.nodes;
    if (nodes[static_cast<std::size_t>(left)].is_leaf() && chance(2) == 0)
      nodes[static_cast<std::size_t>(left)].fused = true;
    open[other] = order.add_sum(left, right);
  }
  return order;
}

}  // namespace reprobench
