// Sums that are changed by hand, for tests that none of them is taken for the sum as it should be.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "matrix/orders/ordered_box.hpp"

namespace reprobench {

// What a library could do wrong, or otherwise, where it is said to add in `order`.
enum class Change { drop, twice, scale, order, fused, wide_partial, narrow_partial };
struct NamedChange {
  Change change;
  const char* name;
};
inline constexpr NamedChange kChanges[] = {{Change::drop, "a term is dropped"},
                                           {Change::twice, "a term is added twice"},
                                           {Change::scale, "a term is scaled by 1 + 2^-20"},
                                           {Change::order, "two terms change places"},
                                           {Change::fused, "one product is fused, or no longer"},
                                           {Change::wide_partial, "one partial sum is not rounded"},
                                           {Change::narrow_partial, "one partial sum is cut to bf16"}};

struct ChangedSum {
  SummationTree order;
  Change change;
  std::size_t at = 0;  // a term, or a node

  float sum(std::vector<float> left, const std::vector<float>& right) const {
    if (change == Change::drop) left[at] = 0;
    if (change == Change::twice) left[at] *= 2;
    if (change == Change::scale) left[at] *= 1 + 0x1p-20F;
    if (change != Change::wide_partial && change != Change::narrow_partial) {
      return sum_of(order, {left, right});
    }
    return sum_with_partial(left, right);
  }

  // One partial sum is not rounded to fp32, or is rounded to bf16.
  float sum_with_partial(const std::vector<float>& left, const std::vector<float>& right) const {
    std::vector<double> values(order.nodes.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const OrderNode& node = order.nodes[i];
      const auto term = static_cast<std::size_t>(std::max(0, node.term));
      if (node.is_leaf()) {
        values[i] = node.fused ? static_cast<double>(left[term]) * right[term] : left[term] * right[term];
        continue;
      }
      const double whole = values[static_cast<std::size_t>(node.left)] + values[static_cast<std::size_t>(node.right)];
      values[i] = i == at && change == Change::wide_partial ? whole : static_cast<float>(whole);
      if (i == at && change == Change::narrow_partial) {
        const auto kept = static_cast<float>(whole);
        values[i] = kept - std::fmod(kept, std::ldexp(1.0F, std::ilogb(kept == 0 ? 1.0F : kept) - 7));
      }
    }
    return static_cast<float>(values.back());
  }
};

// Nothing where there is nothing to change, or the change leaves the same order.
inline std::optional<ChangedSum> changed(const SummationTree& order, Change change, std::uint64_t seed) {
  const auto chance = [&](std::uint32_t count, std::size_t below) {
    return philox4x32_10({{count, 0, 0, 0}}, {{static_cast<std::uint32_t>(seed), 11}}).word[0] % below;
  };
  ChangedSum made{order, change, chance(0, order.terms())};
  std::vector<std::size_t> leaves;
  std::vector<std::size_t> inner;
  for (std::size_t i = 0; i + 1 < order.nodes.size(); ++i) (order.nodes[i].is_leaf() ? leaves : inner).push_back(i);
  if (change == Change::wide_partial || change == Change::narrow_partial) {
    if (inner.empty()) return std::nullopt;
    made.at = inner[chance(1, inner.size())];
  }
  if (change == Change::order)
    std::swap(made.order.nodes[leaves[chance(2, leaves.size())]].term,
              made.order.nodes[leaves[chance(3, leaves.size())]].term);
  if (change == Change::fused) {
    OrderNode& leaf = made.order.nodes[leaves[chance(4, leaves.size())]];
    leaf.fused = !leaf.fused;
    // Of two leaves only one can be fused.
    for (const OrderNode& node : made.order.nodes) {
      if (node.is_leaf()) continue;
      if (made.order.nodes[static_cast<std::size_t>(node.left)].fused &&
          made.order.nodes[static_cast<std::size_t>(node.right)].fused)
        return std::nullopt;
    }
  }
  if ((change == Change::order || change == Change::fused) && order_text(made.order) == order_text(order))
    return std::nullopt;
  return made;
}

// As a worker draws them: bell-shaped of many sizes, or such that the second half takes back the first.
inline void draw(std::uint64_t seed, std::uint32_t round, std::vector<float>& left, std::vector<float>& right) {
  const std::size_t terms = left.size();
  const auto number = [&](std::uint32_t at) {
    const PhiloxBlock block = philox4x32_10({{at, round, 0, 0}}, {{static_cast<std::uint32_t>(seed), 13}});
    return (static_cast<float>(block.word[0]) - 0x1p31F) * 0x1p-31F;
  };
  for (std::size_t i = 0; i < terms; ++i) {
    left[i] = number(static_cast<std::uint32_t>(2 * i));
    right[i] = number(static_cast<std::uint32_t>(2 * i + 1));
  }
  for (std::size_t i = 0; round % 2 == 1 && i < terms / 2; ++i) {
    left[i + terms / 2] = -left[i];
    right[i + terms / 2] = right[i];
  }
}

}  // namespace reprobench
