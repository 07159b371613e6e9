#include "matrix/numerics/calls/order_judgement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/crc32c.hpp"

namespace reprobench {
namespace {

OrderJudgement not_given(const CallOrder& order, const std::string& output, const char* whose) {
  return {OrderWord::broken,
          fmt::format("{}: the order in which {} side adds is known, and element {} of its result is not what it gives",
                      output, whose, *order.first_not_replayed)};
}

}  // namespace

std::optional<OrderJudgement> judge_orders(const CallOrder& measured, const CallOrder& expected,
                                           const std::string& output, std::int64_t elements) {
  if (measured.is_known() && measured.not_replayed > 0) return not_given(measured, output, "the measured");
  if (expected.is_known() && expected.not_replayed > 0) return not_given(expected, output, "the expected");
  if (!measured.is_known() || !expected.is_known()) return std::nullopt;
  const std::int64_t replayed = std::min(measured.replayed, expected.replayed);
  if (measured.classes != expected.classes) {
    return OrderJudgement{OrderWord::proven,
                          fmt::format("{} adds in another order, proven: {} against {}; both replayed to the bit at "
                                      "{} of {} elements",
                                      output, order_name(measured), order_name(expected), replayed, elements)};
  }
  // Elements that were not looked at may have orders of their own.
  if (replayed < elements) return std::nullopt;
  return OrderJudgement{OrderWord::broken, fmt::format("{}: both sides add in one order ({}), and their bits differ",
                                                       output, order_name(measured))};
}

std::string order_name(const CallOrder& order) {
  if (!order.is_known()) return "";
  const auto largest = std::ranges::max_element(order.classes, {}, &OrderClass::elements);
  std::string all;
  for (const OrderClass& one : order.classes) {
    all += fmt::format("{}|{}|{}|{}|{}\n", one.order, to_string(one.end), one.terms, one.first_element, one.elements);
  }
  const std::string others = order.classes.size() > 1 ? fmt::format(", and {} more", order.classes.size() - 1) : "";
  return fmt::format("{}{} #{:08x}", largest->shape, others, crc32c(all));
}

}  // namespace reprobench
