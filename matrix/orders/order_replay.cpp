#include "matrix/orders/order_replay.hpp"

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
T OrderReplay<T>::sum(const SumOperands<T>& operands) {
  const auto& nodes = order_.nodes;
  if (nodes.empty()) return 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const OrderNode& node = nodes[i];
    if (node.is_leaf()) {
      // A fused product is made where it joins.
      values_[i] = node.fused ? T{0} : product(operands, node.term);
      continue;
    }
    const auto left = static_cast<std::size_t>(node.left);
    const auto right = static_cast<std::size_t>(node.right);
    if (nodes[right].fused) {
      const auto term = static_cast<std::size_t>(nodes[right].term);
      values_[i] = std::fma(operands.left[term], operands.right[term], values_[left]);
    } else if (nodes[left].fused) {
      const auto term = static_cast<std::size_t>(nodes[left].term);
      values_[i] = std::fma(operands.left[term], operands.right[term], values_[right]);
    } else {
      values_[i] = values_[left] + values_[right];
    }
  }
  const T whole = values_[nodes.size() - 1];
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

template class OrderReplay<float>;
template class OrderReplay<double>;

}  // namespace reprobench
