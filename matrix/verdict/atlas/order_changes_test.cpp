#include "matrix/verdict/atlas/order_changes.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

CallComparison call_with(std::vector<OrderName> orders, std::string library = "MKL") {
  CallComparison call;
  call.word = CallWord::equal;
  call.orders = std::move(orders);
  call.library = std::move(library);
  return call;
}

const OrderName kOne{"output.0", "a chain #1", ""};
const OrderName kOther{"output.0", "two chains #2", ""};
const OrderName kUnknown{"output.0", "", "it is no sum"};

OrderChange only(const std::vector<OrderChange>& changes) {
  REQUIRE(changes.size() == 1);
  return changes.front();
}

TEST_CASE("equal names are one order, other names another, and a name on one side alone is not known", "[verdict]") {
  CHECK(only(paired_orders(call_with({kOne}), call_with({kOne}))).word == OrderChangeWord::same);
  CHECK(only(paired_orders(call_with({kOne}), call_with({kOther}))).word == OrderChangeWord::other);
  const OrderChange half = only(paired_orders(call_with({kOne}), call_with({kUnknown})));
  CHECK(half.word == OrderChangeWord::unknown);
  CHECK(half.why == "it is no sum (expected side)");
  CHECK(only(paired_orders(call_with({kUnknown}), call_with({kOne}))).why == "it is no sum");
  CHECK(only(paired_orders(call_with({kUnknown}), call_with({kUnknown}))).why == "it is no sum");
}

TEST_CASE("an output that one side lacks is not known, whichever side that is", "[verdict]") {
  const OrderName gradient{"gradient.0", "a chain #3", ""};
  for (const auto& changes : {paired_orders(call_with({kOne, gradient}), call_with({kOne})),
                              paired_orders(call_with({kOne}), call_with({kOne, gradient}))}) {
    REQUIRE(changes.size() == 2);
    CHECK(changes[0].word == OrderChangeWord::same);
    CHECK(changes[1].word == OrderChangeWord::unknown);
    CHECK_THAT(changes[1].why, Catch::Contains("the call made no such output"));
  }
}

TEST_CASE("a call that was not made, or without an order on record, is not known", "[verdict]") {
  CallComparison absent;
  absent.word = CallWord::absent;
  absent.why = "this release has no operator of that name";
  CHECK(only(paired_orders(absent, absent)).why == absent.why);
  CHECK(only(paired_orders(absent, call_with({kOne}))).word == OrderChangeWord::unknown);
  const OrderChange silent = only(paired_orders(call_with({}), call_with({})));
  CHECK(silent.word == OrderChangeWord::unknown);
  CHECK(silent.why == "its order was not asked for");
}

TEST_CASE("one order with other bits is not the same, and a defect is told beside the orders", "[verdict]") {
  CallComparison ours = call_with({kOne});
  ours.differing = {"output.0"};
  CHECK(only(paired_orders(ours, call_with({kOne}))).word == OrderChangeWord::unknown);
  ours.word = CallWord::defect;
  ours.why = "element 3 is wrong";
  const auto changes = paired_orders(ours, call_with({kOne}));
  REQUIRE(changes.size() == 2);
  CHECK(changes[1].word == OrderChangeWord::broken);
  CHECK(changes[1].why == "defect: element 3 is wrong");
}

TEST_CASE("the word of all: another order over an unknown one, that over the same, and nothing is never the same",
          "[verdict]") {
  const auto word = [](std::vector<OrderChangeWord> words) {
    std::vector<CallOrderChanges> changes(1);
    for (const OrderChangeWord one : words) changes[0].outputs.push_back({"output.0", one, "", "", ""});
    return word_of(changes);
  };
  using enum OrderChangeWord;
  CHECK(word({same, same}) == Match::equal);
  CHECK(word({same, unknown}) == Match::not_comparable);
  CHECK(word({unknown, other, same}) == Match::differs);
  CHECK(word({broken, unknown}) == Match::differs);
  CHECK(word_of({}) == Match::not_comparable);
}

TEST_CASE("the library of both sides is named once where it is one, and its absence on either side is", "[verdict]") {
  OperatorAtlas atlas;
  atlas.columns = {{"a", "1", "", ""}, {"b", "2", "", ""}};
  CallComparison silent = call_with({kOne}, "");
  silent.library_unknown = "nothing was seen";
  atlas.rows = {{"mm(f32[2, 2], f32[2, 2])", {call_with({kOne}), call_with({kOne})}},
                {"mm(f32[3, 3], f32[3, 3])", {call_with({kOne}), call_with({kOne}, "oneDNN")}},
                {"mm(f32[4, 4], f32[4, 4])", {call_with({kOne}), silent}},
                {"mm(f32[5, 5], f32[5, 5])", {CallComparison{}, CallComparison{}}}};
  const auto changes = order_changes(atlas, 1, 0);
  REQUIRE(changes.size() == 4);
  CHECK(changes[0].library == "MKL");
  CHECK(changes[1].library == "oneDNN, against MKL");
  CHECK(changes[2].library == "not known: nothing was seen, against MKL");
  CHECK(changes[3].library == "not known: no record");
  CHECK(changes[0].call == "mm(f32[2, 2], f32[2, 2])");
}

}  // namespace
}  // namespace reprobench
