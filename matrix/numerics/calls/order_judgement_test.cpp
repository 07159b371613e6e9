#include "matrix/numerics/calls/order_judgement.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

CallOrder known_order(const std::string& tree, std::int64_t replayed, SumEnd end = SumEnd::as_it_is) {
  CallOrder order;
  order.classes = {{tree, "chains", end, 4, 0, 10, 1000}};
  order.elements = 10;
  order.replayed = replayed;
  return order;
}

CallOrder broken_at(std::int64_t element) {
  CallOrder order = known_order("(0..3)", 9);
  order.not_replayed = 1;
  order.first_not_replayed = element;
  return order;
}

TEST_CASE("two orders that differ and give both results prove rounding", "[orders]") {
  const CallOrder chain = known_order("(0..3)", 10);
  const CallOrder pairs = known_order("(0 1 (2 3))", 12);
  const OrderJudgement judged = judge_orders(chain, pairs, "aten::mm", 20);
  CHECK(judged.word == OrderWord::proven);
  CHECK(judged.sentence == "aten::mm adds in another order, proven: " + order_name(chain) + " against " +
                               order_name(pairs) + "; both replayed to the bit at 10 of 20 elements");
  CHECK_FALSE(judged.at_every_element);
  CHECK(judge_orders(chain, pairs, "aten::mm", 10).at_every_element);
  // How a mean divides is part of the order.
  CHECK(judge_orders(chain, known_order("(0..3)", 10, SumEnd::divided), "mean", 10).word == OrderWord::proven);
}

TEST_CASE("two layer norms that round at other places prove rounding as well", "[orders]") {
  const CallOrder fused = known_order("welford lanes=8 mean=fff", 10);
  const CallOrder rounded = known_order("welford lanes=8 mean=frf", 10);
  const OrderJudgement judged = judge_orders(fused, rounded, "aten::native_layer_norm", 10);
  CHECK(judged.word == OrderWord::proven);
  CHECK(judged.sentence == "aten::native_layer_norm rounds at other places, proven: " + order_name(fused) +
                               " against " + order_name(rounded) + "; both replayed to the bit at 10 of 10 elements");
  CHECK(judge_orders(fused, fused, "aten::native_layer_norm", 10).word == OrderWord::broken);
  CHECK(judge_orders(fused, known_order("welford lanes=8 mean=fxf", 10), "n", 10).sentence ==
        "not proven: its order cannot be read (expected side)");
  // A mean as a plain sum adds in another order altogether.
  CHECK_THAT(judge_orders(fused, known_order("(0..3)", 10), "n", 10).sentence,
             Catch::StartsWith("n adds in another order, proven: "));
}

TEST_CASE("equal orders at every element leave no room for other bits", "[orders]") {
  const CallOrder chain = known_order("(0..3)", 10);
  const OrderJudgement judged = judge_orders(chain, chain, "aten::mm", 10);
  CHECK(judged.word == OrderWord::broken);
  CHECK(judged.sentence == "aten::mm: both sides add in one order (" + order_name(chain) + "), and their bits differ");
  // How many inputs each side was tried with is no part of its order.
  CallOrder tried_longer = chain;
  tried_longer.classes[0].checked = 2000;
  CHECK(judge_orders(chain, tried_longer, "aten::mm", 10).word == OrderWord::broken);
  // Where some elements were not looked at, the difference may be theirs.
  CHECK(judge_orders(chain, chain, "aten::mm", 11).word == OrderWord::unknown);
  CHECK(judge_orders(chain, known_order("(0..3)", 9), "aten::mm", 10).sentence ==
        "not proven: both sides add in one order at the 9 of 10 elements that were looked at (" + order_name(chain) +
            ")");
}

TEST_CASE("a result that its own order does not give is broken, whatever is known of the other side", "[orders]") {
  const CallOrder chain = known_order("(0..3)", 10);
  CallOrder unknown;
  unknown.problem = "it is no sum of these terms";
  for (const CallOrder& other : {chain, unknown, known_order("(0 1 (2 3))", 10)}) {
    CHECK(judge_orders(broken_at(42), other, "aten::mm", 10).word == OrderWord::broken);
    CHECK_THAT(judge_orders(broken_at(42), other, "aten::mm", 10).sentence,
               Catch::Contains("the measured side adds is known, and element 42 of its result"));
    CHECK(judge_orders(other, broken_at(7), "aten::mm", 10).word == OrderWord::broken);
    CHECK_THAT(judge_orders(other, broken_at(7), "aten::mm", 10).sentence,
               Catch::Contains("the expected side adds is known, and element 7 of its result"));
  }
  CHECK(judge_orders(chain, unknown, "aten::mm", 10).word == OrderWord::unknown);
  CHECK(judge_orders(chain, unknown, "aten::mm", 10).sentence ==
        "not proven: it is no sum of these terms (expected side)");
  CHECK(judge_orders(unknown, chain, "aten::mm", 10).sentence == "not proven: it is no sum of these terms");
}

TEST_CASE("a text that is no order, or not the one text of its order, proves nothing", "[orders]") {
  const CallOrder chain = known_order("(0..3)", 10);
  for (const char* const text : {"(1 0 2 3)", "(0 1 2 3)", "(0..2)", "(0..4)", "(0 0 1 2)", "any"}) {
    CAPTURE(text);
    CHECK(judge_orders(known_order(text, 10), chain, "aten::mm", 20).word == OrderWord::unknown);
    CHECK(judge_orders(chain, known_order(text, 10), "aten::mm", 20).word == OrderWord::unknown);
  }
}

TEST_CASE("a name of an order is one of its whole content", "[orders]") {
  const CallOrder chain = known_order("(0..3)", 10);
  CHECK(order_name(CallOrder{}).empty());
  CHECK_THAT(order_name(chain), Catch::StartsWith("chains #"));
  CHECK(order_name(chain) == order_name(known_order("(0..3)", 3)));
  CHECK(order_name(chain) != order_name(known_order("(0..2 3f)", 10)));
  CHECK(order_name(chain) != order_name(known_order("(0..3)", 10, SumEnd::divided)));
  CallOrder looked_at_more = chain;
  looked_at_more.classes[0].elements = 20;
  CHECK(order_name(looked_at_more) == order_name(chain));
  CallOrder two = chain;
  two.classes.push_back({"(0 1 (2 3))", "pairs", SumEnd::as_it_is, 4, 5, 11, 100});
  CHECK_THAT(order_name(two), Catch::StartsWith("pairs, and 1 more #"));
  CallOrder elsewhere = two;
  elsewhere.classes[1].first_element = 6;
  CHECK(order_name(elsewhere) != order_name(two));
}

}  // namespace
}  // namespace reprobench
