#include "matrix/orders/order_replay.hpp"

#include <array>

#include "ci/catch.hpp"
#include "matrix/orders/changed_sums_fixture.hpp"

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
  CHECK(sum_in("(0..2)", {1, 2, 2}, {}, -1, SumEnd::as_it_is, 3) == 5);
}

// `orders_test "*for the sum in its order*" -s` shows the table of suites/orders.md.
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
