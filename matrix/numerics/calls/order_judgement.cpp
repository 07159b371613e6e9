#include "matrix/numerics/calls/order_judgement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/crc32c.hpp"
#include "matrix/orders/order_layout.hpp"

namespace reprobench {
namespace {

// Why nothing can be proven by this order; empty: something can. One order has one text: two texts of one order would
// look like two orders.
std::string why_not(const CallOrder& order) {
  if (!order.is_known()) return order.problem;
  const bool is_canonical = std::ranges::all_of(
      order.classes, [](const OrderClass& one) { return is_canonical_order(one.order, one.terms); });
  return is_canonical ? "" : "its order cannot be read";
}

// Everything that decides bits: which elements add in which order. If all elements have one order, the number that was
// looked at is left out.
std::string content_of(const CallOrder& order) {
  std::string all;
  for (const OrderClass& one : order.classes) {
    all += fmt::format("{}|{}|{}\n", one.order, to_string(one.end), one.terms);
    if (order.classes.size() > 1) all += fmt::format("{}|{}\n", one.first_element, one.elements);
  }
  return all;
}

// Whose terms meet in one order, and whose steps are rounded here and fused there.
bool has_form(const CallOrder& order) { return is_form(order.classes.front().order); }

}  // namespace

std::optional<OrderJudgement> judge_own_order(const CallOrder& order, const std::string& output, const char* whose) {
  if (!order.is_known() || order.not_replayed == 0) return std::nullopt;
  return OrderJudgement{
      OrderWord::broken,
      fmt::format("{}: the order in which {} side adds is known, and element {} of its result is not what it gives",
                  output, whose, *order.first_not_replayed)};
}

OrderJudgement judge_orders(const CallOrder& measured, const CallOrder& expected, const std::string& output,
                            std::int64_t elements) {
  if (const auto broken = judge_own_order(measured, output, "the measured")) return *broken;
  if (const auto broken = judge_own_order(expected, output, "the expected")) return *broken;
  for (const CallOrder* side : {&measured, &expected}) {
    if (const std::string why = why_not(*side); !why.empty()) {
      return {OrderWord::unknown, fmt::format("not proven: {}{}", why, &expected == side ? " (expected side)" : "")};
    }
  }
  const std::int64_t replayed = std::min(measured.replayed, expected.replayed);
  if (content_of(measured) != content_of(expected)) {
    return {OrderWord::proven,
            fmt::format("{} {}, proven: {} against {}; both replayed to the bit at {} of {} elements", output,
                        has_form(measured) && has_form(expected) ? "rounds at other places" : "adds in another order",
                        order_name(measured), order_name(expected), replayed, elements),
            replayed >= elements};
  }
  // Elements that were not looked at may have orders of their own.
  if (replayed < elements) {
    return {OrderWord::unknown,
            fmt::format("not proven: both sides add in one order at the {} of {} elements that were "
                        "looked at ({})",
                        replayed, elements, order_name(measured))};
  }
  return {OrderWord::broken,
          fmt::format("{}: both sides add in one order ({}), and their bits differ", output, order_name(measured))};
}

std::string why_no_order(const CallOrder& order) {
  const std::string why = why_not(order);
  if (!why.empty() || order.not_replayed == 0) return why;
  return fmt::format("element {} of its own result is not what its order gives", *order.first_not_replayed);
}

std::string order_name(const CallOrder& order) {
  if (!order.is_known()) return "";
  const auto largest = std::ranges::max_element(order.classes, {}, &OrderClass::elements);
  const std::string others = order.classes.size() > 1 ? fmt::format(", and {} more", order.classes.size() - 1) : "";
  return fmt::format("{}{} #{:08x}", largest->shape, others, crc32c(content_of(order)));
}

}  // namespace reprobench
