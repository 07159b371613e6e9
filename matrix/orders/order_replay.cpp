#include "matrix/orders/order_replay.hpp"

#include <cmath>

namespace reprobench {
namespace {

template <typename T>
T product(const SumOperands<T>& operands, std::int32_t term) {
  const auto at = static_cast<std::size_t>(term);
  const bool is_plain = operands.right.empty() || (operands.plain_from >= 0 && term >= operands.plain_from);
  return is_plain ? operands.left[at] : operands.left[at] * operands.right[at];
}

}  // namespace

template <typename T>
T sum_in_order(const SummationTree& order, const SumOperands<T>& operands, std::vector<T>& partial_sums) {
  const auto& nodes = order.nodes;
  if (nodes.empty()) return 0;
  partial_sums.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const OrderNode& node = nodes[i];
    if (node.is_leaf()) {
      // A fused product is made where it joins.
      partial_sums[i] = node.fused ? T{0} : product(operands, node.term);
      continue;
    }
    const auto left = static_cast<std::size_t>(node.left);
    const auto right = static_cast<std::size_t>(node.right);
    if (nodes[right].fused) {
      const auto term = static_cast<std::size_t>(nodes[right].term);
      partial_sums[i] = std::fma(operands.left[term], operands.right[term], partial_sums[left]);
    } else if (nodes[left].fused) {
      const auto term = static_cast<std::size_t>(nodes[left].term);
      partial_sums[i] = std::fma(operands.left[term], operands.right[term], partial_sums[right]);
    } else {
      partial_sums[i] = partial_sums[left] + partial_sums[right];
    }
  }
  const T whole = partial_sums[nodes.size() - 1];
  switch (operands.end) {
    case SumEnd::as_it_is:
      return whole;
    case SumEnd::divided:
      return whole / operands.divisor;
    case SumEnd::times_reciprocal:
      return whole * (T{1} / operands.divisor);
  }
  return whole;
}

template float sum_in_order(const SummationTree&, const SumOperands<float>&, std::vector<float>&);
template double sum_in_order(const SummationTree&, const SumOperands<double>&, std::vector<double>&);

}  // namespace reprobench
