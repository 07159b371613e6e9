// Judges one output whose bits differ, made from equal inputs, by two sides' orders of summation
// (contract/call_order.hpp).
//
// If both orders give both results to the bit, and they are not the same, the difference is proven to be rounding. A
// result that its own side's order does not give is a defect, however near it is to fp64. The library adds in that
// order whenever it is asked, and did not this time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "matrix/contract/call_order.hpp"

namespace reprobench {

enum class OrderWord { proven, broken, unknown };
template <>
struct Words<OrderWord> {
  static constexpr std::array<std::string_view, 3> table = {"proven", "broken", "unknown"};
};

struct OrderJudgement {
  OrderWord word = OrderWord::proven;
  std::string sentence;
  bool at_every_element = false;  // else at a sample: other elements are only held by bounds
};

template <>
struct Description<OrderJudgement> {
  static constexpr About about = About::part("order_judgement", "What both sides' orders of summation say.");
  static void fields(auto& field, OrderJudgement& judgement) {
    field("word", judgement.word,
          "Rounding that is proven; a result that no order of its side gives; or nothing, for a reason.");
    field("sentence", judgement.sentence, rule::not_empty);
    field("at_every_element", judgement.at_every_element, "Else at a sample.");
  }
};

// *unknown*: they decide nothing, because one is not known, or they are equal where they were looked at. `output` is
// its name, for the sentence; `elements` is its size.
OrderJudgement judge_orders(const CallOrder& measured, const CallOrder& expected, const std::string& output,
                            std::int64_t elements);

// *broken* where `order` is known and does not give its own side's result; `whose` is "the measured" or "the expected".
std::optional<OrderJudgement> judge_own_order(const CallOrder& order, const std::string& output, const char* whose);

// Why an order counts for nothing: it is not known, it cannot be read, or its own side's result is not what it gives.
// Empty: it counts.
std::string why_no_order(const CallOrder& order);

// "2 chains of 128, fused, then their sum #3f9c1e0a". Equal names are equal orders. Several classes of elements have
// one name, which shows the largest class. Empty if the order is not known.
std::string order_name(const CallOrder& order);

}  // namespace reprobench
