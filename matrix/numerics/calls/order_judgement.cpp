#include "matrix/numerics/calls/order_judgement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/contract_error.hpp"
#include "matrix/base/crc32c.hpp"
#include "matrix/orders/summation_tree.hpp"

namespace reprobench {
namespace {

// One text for one order, of as many terms as it says: two texts of one order would look like two orders.
bool is_readable(const CallOrder& order) {
  return order.is_known() && std::ranges::all_of(order.classes, [](const OrderClass& one) {
           try {
             const SummationTree tree = parse_order(one.order);
             return static_cast<std::int64_t>(tree.terms()) == one.terms && order_text(tree) == one.order;
           } catch (const ContractError&) {
             return false;
           }
         });
}

// Everything that decides bits: which elements add in which order. Of one order for all, not how many were looked at.
std::string content_of(const CallOrder& order) {
  std::string all;
  for (const OrderClass& one : order.classes) {
    all += fmt::format("{}|{}|{}\n", one.order, to_string(one.end), one.terms);
    if (order.classes.size() > 1) all += fmt::format("{}|{}\n", one.first_element, one.elements);
  }
  return all;
}

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
  if (!is_readable(measured) || !is_readable(expected)) return std::nullopt;
  const std::int64_t replayed = std::min(measured.replayed, expected.replayed);
  if (content_of(measured) != content_of(expected)) {
    return OrderJudgement{OrderWord::proven,
                          fmt::format("{} adds in another order, proven: {} against {}; both replayed to the bit at "
                                      "{} of {} elements",
                                      output, order_name(measured), order_name(expected), replayed, elements),
                          replayed >= elements};
  }
  // Elements that were not looked at may have orders of their own.
  if (replayed < elements) return std::nullopt;
  return OrderJudgement{OrderWord::broken, fmt::format("{}: both sides add in one order ({}), and their bits differ",
                                                       output, order_name(measured))};
}

std::string order_name(const CallOrder& order) {
  if (!order.is_known()) return "";
  const auto largest = std::ranges::max_element(order.classes, {}, &OrderClass::elements);
  const std::string others = order.classes.size() > 1 ? fmt::format(", and {} more", order.classes.size() - 1) : "";
  return fmt::format("{}{} #{:08x}", largest->shape, others, crc32c(content_of(order)));
}

}  // namespace reprobench
