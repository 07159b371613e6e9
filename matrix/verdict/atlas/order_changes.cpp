#include "matrix/verdict/atlas/order_changes.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {
namespace {

const OrderName* find_order(const CallComparison& call, const std::string& output) {
  const auto found = std::ranges::find(call.orders, output, &OrderName::output);
  return found == call.orders.end() ? nullptr : &*found;
}

// Why one side has no order of an output; empty: it has one.
std::string why_not(const CallComparison& call, const OrderName* order) {
  if (order != nullptr) return order->name.empty() ? order->problem : "";
  if (!call.orders.empty()) return "the call made no such output";
  return call.why.empty() ? "its order was not asked for" : call.why;
}

std::string on_both(const std::string& measured, const std::string& expected) {
  if (measured == expected || expected.empty()) return measured;
  if (measured.empty()) return fmt::format("{} (expected side)", expected);
  return fmt::format("{}; on the expected side: {}", measured, expected);
}

OrderChange paired(const CallComparison& measured, const CallComparison& expected, const std::string& output) {
  const OrderName* ours = find_order(measured, output);
  const OrderName* theirs = find_order(expected, output);
  OrderChange change{output, OrderChangeWord::unknown, ours == nullptr ? "" : ours->name,
                     theirs == nullptr ? "" : theirs->name,
                     on_both(why_not(measured, ours), why_not(expected, theirs))};
  if (change.measured.empty() || change.expected.empty()) return change;
  if (change.measured != change.expected) {
    change.word = OrderChangeWord::other;
  } else if (std::ranges::count(measured.differing, output) > 0) {
    // One order, and other bits: it explains nothing.
    change.why = "both sides add in one order where they were looked at, and their bits differ";
  } else {
    change.word = OrderChangeWord::same;
  }
  return change;
}

std::string side_of(const CallComparison& call) {
  if (!call.library.empty()) return call.library;
  return fmt::format("not known: {}", call.library_unknown.empty() ? "no record" : call.library_unknown);
}

}  // namespace

std::vector<OrderChange> paired_orders(const CallComparison& measured, const CallComparison& expected) {
  std::vector<OrderChange> changes;
  for (const OrderName& order : expected.orders) changes.push_back(paired(measured, expected, order.output));
  for (const OrderName& order : measured.orders) {
    if (find_order(expected, order.output) == nullptr) changes.push_back(paired(measured, expected, order.output));
  }
  if (changes.empty()) changes.push_back(paired(measured, expected, ""));
  if (is_broken(measured.word)) {
    changes.push_back(
        {"", OrderChangeWord::broken, "", "", std::string(to_string(measured.word)) + ": " + measured.why});
  }
  return changes;
}

std::vector<CallOrderChanges> order_changes(const OperatorAtlas& atlas, std::size_t measured, std::size_t expected) {
  std::vector<CallOrderChanges> all;
  for (const AtlasRow& row : atlas.rows) {
    const CallComparison& ours = row.by_column[measured];
    const CallComparison& theirs = row.by_column[expected];
    const std::string our_side = side_of(ours);
    const std::string their_side = side_of(theirs);
    all.push_back({row.call, our_side == their_side ? our_side : our_side + ", against " + their_side,
                   paired_orders(ours, theirs)});
  }
  return all;
}

Match word_of(const std::vector<CallOrderChanges>& changes) {
  Match word = changes.empty() ? Match::not_comparable : Match::equal;
  for (const CallOrderChanges& call : changes) {
    for (const OrderChange& one : call.outputs) {
      if (one.word == OrderChangeWord::same) continue;
      word = overall(word, one.word == OrderChangeWord::unknown ? Match::not_comparable : Match::differs);
    }
  }
  return word;
}

}  // namespace reprobench
