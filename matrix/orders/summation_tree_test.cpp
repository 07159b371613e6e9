#include "matrix/orders/summation_tree.hpp"

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/base/contract_error.hpp"
#include "matrix/orders/ordered_box.hpp"

namespace reprobench {
namespace {

std::string canonical(std::string_view text) { return order_text(parse_order(text)); }

TEST_CASE("an order has one text, however its additions were written down", "[orders]") {
  CHECK(canonical("0") == "0");
  CHECK(canonical("(0 1)") == "(0 1)");
  CHECK(canonical("(1 0)") == "(0 1)");
  CHECK(canonical("(0 1 2 3)") == "(0..3)");
  CHECK(canonical("((0 1) 2)") == "(0..2)");
  CHECK(canonical("(2 (1 0))") == "(0..2)");
  CHECK(canonical("((0 2f) (1 3f))") == "(0 2f (1 3f))");
  CHECK(canonical("((1 3f) (0 2f))") == "(0 2f (1 3f))");
  CHECK(canonical("(0 2 4 6 (1 3 5 7))") == "(0..6/2 (1..7/2))");
  CHECK(canonical("(3 2 1 0)") == "(2 3 1 0)");
  CHECK(canonical("((0 1) (2 3) ((4 5) (6 7)))") == "(0 1 (2 3) (4 5 (6 7)))");
}

TEST_CASE("an order's text says where products join unrounded, and keeps other orders apart", "[orders]") {
  CHECK(canonical("(0 1f 2f 3f)") == "(0..3f)");
  CHECK(canonical("(0..3f)") == "(0..3f)");
  CHECK(canonical("(0 1 2f 3f 4f)") == "(0 1 2..4f)");
  CHECK(canonical("(0 1f 2f 3)") == "(0..2f 3)");
  CHECK(canonical("(0 1f)") == "(0 1f)");
  // Nothing is there that the first could be fused onto.
  CHECK(parse_order("(0f 1)").nodes == parse_order("(0 1)").nodes);
  CHECK(canonical("(1 0f)") == "(1 0f)");
  CHECK(canonical("(0..3)") != canonical("(0..3f)"));
  CHECK(canonical("(0 1 (2 3))") != canonical("(0..3)"));
}

TEST_CASE("a text is read back as the order that it was written from", "[orders]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const SummationTree order = order_by_chance(seed, 1 + static_cast<std::int32_t>(seed % 90));
    const std::string text = order_text(order);
    CAPTURE(text);
    CHECK(canonical(text) == text);
    CHECK(parse_order(text).terms() == order.terms());
    CHECK(order_depth(parse_order(text)) == order_depth(order));
  }
}

TEST_CASE("a chain of 100,000 terms is one level of text", "[orders]") {
  const SummationTree order = parse_order("(0..99999f)");
  CHECK(order.terms() == 100'000);
  CHECK(order_depth(order) == 99'999);
  CHECK(order_text(order) == "(0..99999f)");
}

TEST_CASE("a text that is no order says what is wrong and where", "[orders]") {
  const auto refusal = [](std::string_view text) { return message_of<ContractError>([&] { parse_order(text); }); };
  CHECK(refusal("") == "an order of summation has no number of a term at character 1");
  CHECK(refusal("(0 1") == "an order of summation has no `)` at character 5");
  CHECK(refusal("(0 1) 2") == "an order of summation has more than one sum at character 6");
  CHECK(refusal("(0 0)") == "an order of summation has terms are not 0 to N-1, each once at character 6");
  CHECK(refusal("(0 2)") == "an order of summation has terms are not 0 to N-1, each once at character 6");
  CHECK(refusal("(0.1)") == "an order of summation has one dot at character 4");
  CHECK(refusal("(0..7/2)") == "an order of summation has a range that does not end at character 8");
  CHECK(refusal("(0..4/0)") == "an order of summation has a range that does not end at character 8");
  CHECK(refusal("(4..0)") == "an order of summation has a range that does not end at character 6");
  CHECK(refusal("(0  1)") == "an order of summation has no number of a term at character 4");
  CHECK(refusal("(0 -1)") == "an order of summation has no number of a term at character 4");
  CHECK(refusal("(0..99999999)") == "an order of summation has no number of a term at character 5");
  CHECK(refusal(std::string(100, '(') + "0") == "an order of summation has more than 64 levels at character 66");
}

TEST_CASE("an order is told in words", "[orders]") {
  const auto shape = [](std::string_view text) { return order_shape(parse_order(text)); };
  CHECK(shape("0") == "1 term");
  CHECK(shape("(0..999f)") == "1 chain of 1000, fused");
  CHECK(shape("(0..999)") == "1 chain of 1000");
  CHECK(shape("(0 2f (1 3f))") == "2 chains of 2, fused, then their sum");
  CHECK(shape("(0 1 2f 3f)") == "1 chain of 4, 2 of 4 fused");
  CHECK(shape("(0 1 (2 3) (4 5 (6 7)))") == "4 chains of 2, then pairwise");
  CHECK(shape("(0 1 (2 3) (4 5) (6 7))") == "4 chains of 2, then one after the other");
  CHECK(shape("(0..3 (4 5))") == "2 chains of 2 to 4, then their sum");
  CHECK(shape("(0 1 (2 3) (4 5) (6 7) (8 9 (10 11)))") == "6 chains of 2, then in 4 levels");
}

}  // namespace
}  // namespace reprobench
