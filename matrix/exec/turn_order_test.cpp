#include "matrix/exec/turn_order.hpp"

#include <string>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

// "A0 B0 B1 A1"
std::string all_turns(TurnOrder order) {
  std::string text;
  while (const auto next = order.next()) {
    if (!text.empty()) text += ' ';
    text += static_cast<char>('A' + next->member);
    text += std::to_string(next->block);
  }
  return text;
}

TEST_CASE("residents take turns forward and backward", "[exec]") {
  CHECK(all_turns(TurnOrder({4, 4})) == "A0 B0 B1 A1 A2 B2 B3 A3");
  CHECK(all_turns(TurnOrder({2, 2, 2})) == "A0 B0 C0 C1 B1 A1");
  CHECK(all_turns(TurnOrder({3})) == "A0 A1 A2");
  CHECK(all_turns(TurnOrder({})).empty());
}

TEST_CASE("a resident with fewer blocks is left out once it has done them", "[exec]") {
  CHECK(all_turns(TurnOrder({1, 3})) == "A0 B0 B1 B2");
}

TEST_CASE("the longest may be first, last or in between", "[exec]") {
  CHECK(all_turns(TurnOrder({3, 1})) == "A0 B0 A1 A2");
  CHECK(all_turns(TurnOrder({1, 3, 2})) == "A0 B0 C0 C1 B1 B2");
  CHECK(all_turns(TurnOrder({0, 1})) == "B0");
}

TEST_CASE("a resident that is gone takes no more turns, and the others go on", "[exec]") {
  TurnOrder order({3, 3});
  CHECK(order.next()->member == 0);
  CHECK(order.next()->member == 1);
  order.drop(1);
  CHECK(all_turns(order) == "A1 A2");
}

}  // namespace
}  // namespace reprobench
