#include "matrix/orders/order_replay.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "ci/catch.hpp"
#include "matrix/orders/ordered_box.hpp"

namespace reprobench {
namespace {

float sum_in(std::string_view text, std::vector<float> left, std::vector<float> right = {},
             std::int64_t plain_from = -1, SumEnd end = SumEnd::as_it_is, float divisor = 1) {
  const SummationTree order = parse_order(text);
  return sum_of(order, {left, right, plain_from, end, divisor});
}

TEST_CASE("a replay rounds after every addition, in its order", "[orders]") {
  CHECK(sum_in("(0..2)", {0x1p24F, 1, 1}) == 0x1p24F);
  CHECK(sum_in("(1 2 0)", {0x1p24F, 1, 1}) == 0x1p24F + 2);
  CHECK(sum_in("(0 1 (2 3))", {0x1p24F, 1, 1, 1}) == 0x1p24F + 2);
  CHECK(sum_in("0", {3}) == 3);
}

TEST_CASE("a fused product joins unrounded, any other is rounded first", "[orders]") {
  const float tiny = 1.0F + 0x1p-13F;
  const float square = tiny * tiny;
  CHECK(sum_in("(0 1)", {-square, tiny}, {1, tiny}) == 0);
  CHECK(sum_in("(0 1f)", {-square, tiny}, {1, tiny}) == 0x1p-26F);
  CHECK(sum_in("(1 0f)", {-square, tiny}, {1, tiny}) == 0);
  CHECK(sum_in("(1 2 0f)", {tiny, -square, 0}, {tiny, 1, 1}) == 0x1p-26F);
}

TEST_CASE("a bias has no factor, and a mean divides in one of two ways", "[orders]") {
  CHECK(sum_in("(0 1)", {2, 3}, {5, 7}, 1) == 13);
  CHECK(sum_in("(0 1)", {2, 3}, {5, 7}, -1) == 31);
  CHECK(sum_in("(0..2)", {1, 2, 2}, {}, -1, SumEnd::divided, 3) == 5.0F / 3.0F);
  CHECK(sum_in("(0..2)", {1, 2, 2}, {}, -1, SumEnd::times_reciprocal, 3) == 5.0F * (1.0F / 3.0F));
  CHECK(5.0F / 3.0F != 5.0F * (1.0F / 3.0F));
}

// What a library could do wrong, or otherwise, where it is said to add in `order`.
enum class Change { drop, twice, scale, order, fused, wide_partial, narrow_partial };
struct NamedChange {
  Change change;
  const char* name;
};
constexpr NamedChange kChanges[] = {{Change::drop, "a term is dropped"},
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
std::optional<ChangedSum> changed(const SummationTree& order, Change change, std::uint64_t seed) {
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
void draw(std::uint64_t seed, std::uint32_t round, std::vector<float>& left, std::vector<float>& right) {
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

// `orders_test "*changes of a sum*" -s` shows the table of suites/orders.md.
TEST_CASE("none of 10,000 changes of a sum is taken for the sum in its order", "[orders]") {
  struct Counts {
    int planted = 0;
    int unnoticed = 0;
  };
  std::array<Counts, std::size(kChanges)> by_kind;
  std::vector<float> left;
  std::vector<float> right;
  int made = 0;
  for (std::uint64_t seed = 1; made < 10'000; ++seed) {
    const std::size_t kind = seed % std::size(kChanges);
    const SummationTree order = order_by_chance(seed, 8 + static_cast<std::int32_t>(seed % 40));
    const auto change = changed(order, kChanges[kind].change, seed);
    if (!change) continue;
    ++made;
    ++by_kind[kind].planted;
    left.assign(order.terms(), 0);
    right.assign(order.terms(), 0);
    bool is_noticed = false;
    for (std::uint32_t round = 0; round < 1000 && !is_noticed; ++round) {
      draw(seed, round, left, right);
      is_noticed = sum_of(order, {left, right}) != change->sum(left, right);
    }
    by_kind[kind].unnoticed += is_noticed ? 0 : 1;
  }
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    CAPTURE(kChanges[kind].name, by_kind[kind].planted);
    CHECK(by_kind[kind].planted > 500);
    CHECK(by_kind[kind].unnoticed == 0);
  }
}

}  // namespace
}  // namespace reprobench
