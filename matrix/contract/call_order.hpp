// The order in which a call adds up one of its outputs (matrix/orders), as a worker found it: read off the results of
// probes, then replayed on random inputs to the bit. Two stacks whose orders are equal give equal bits for every input
// of that shape. If the orders differ and both results replay, the stacks differ by rounding and by nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

namespace reprobench {

// The last operation on the sum.
enum class SumEnd {
  as_it_is,
  divided,           // by the number of terms, as a mean does it
  times_reciprocal,  // by 1 / that number, rounded first
};
template <>
struct Words<SumEnd> {
  static constexpr std::array<std::string_view, 3> table = {"as_it_is", "divided", "times_reciprocal"};
};

// Elements of one output that are added up in the same way. A library's main loop and its edges often differ.
struct OrderClass {
  std::string order;  // as in matrix/orders/summation_tree.hpp, terms in the layout's order; a bias is the last
  std::string shape;  // the same order for people: "16 chains of 48, fused, then pairwise"
  SumEnd end = SumEnd::as_it_is;
  std::int64_t terms = 0;
  std::int64_t first_element = 0;  // first of the elements that were looked at, row-major
  std::int64_t elements = 0;       // how many were looked at
  std::int64_t checked = 0;        // sums of random inputs that were replayed to the bit, every one of them

  friend bool operator==(const OrderClass&, const OrderClass&) = default;
};

struct CallOrder {
  std::vector<OrderClass> classes;  // empty: not known
  std::string problem;              // why the order is not known
  std::int64_t elements = 0;        // of the output whose order was looked at
  // How many elements of the call's own output the order gives to the bit, and the first that it does not give. A stack
  // that adds in this order on every input it was tried with, but not here, did something else here.
  std::int64_t replayed = 0;
  std::int64_t not_replayed = 0;
  std::optional<std::int64_t> first_not_replayed;
  std::int64_t probes = 0;
  std::int64_t took_ns = 0;

  bool is_known() const { return !classes.empty(); }
  friend bool operator==(const CallOrder&, const CallOrder&) = default;
};

template <>
struct Description<OrderClass> {
  static constexpr About about = About::part("order_class", "Elements of one output that are added up in one order.");
  static void fields(auto& field, OrderClass& one) {
    field("order", one.order, rule::not_empty.says("The tree of additions; equal texts give equal bits."));
    field("shape", one.shape, rule::not_empty.says("The same for people."));
    field("end", one.end, "What is done with the sum.");
    field("terms", one.terms, rule::at_least(1));
    field("first_element", one.first_element, rule::at_least(0));
    field("elements", one.elements, rule::at_least(1).says("That were looked at."));
    field("checked", one.checked, rule::at_least(1).says("Sums of random inputs that were replayed to the bit."));
  }
};

template <>
struct Description<CallOrder> {
  static constexpr About about = About::part("call_order", "In which order a call adds up one of its outputs.");
  static void fields(auto& field, CallOrder& order) {
    field("classes", order.classes, "None: the order is not known.");
    field("problem", order.problem, "Why it is not known.");
    field("elements", order.elements, rule::at_least(0).says("Of the output, that were looked at."));
    field("replayed", order.replayed, rule::at_least(0).says("Of the recorded result, that the order gives."));
    field("not_replayed", order.not_replayed, rule::at_least(0).says("That it does not give."));
    field("first_not_replayed", order.first_not_replayed, rule::at_least(0));
    field("probes", order.probes, rule::at_least(0));
    field("took_ns", order.took_ns, rule::at_least(0));
    field.hold(order.classes.empty() == !order.problem.empty(), "has either `classes` or a `problem`");
    field.hold(order.first_not_replayed.has_value() == (order.not_replayed > 0),
               "has a `first_not_replayed` if and only if there is one");
    field.hold(order.classes.empty() || order.replayed + order.not_replayed >= order.elements,
               "replayed fewer elements of its result than it looked at");
  }
};

}  // namespace reprobench
