#include "matrix/cli/text/orders_text.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "matrix/cli/text/text_table.hpp"

namespace reprobench {
namespace {

// One output of one call: what each stack that made it has.
struct OutputOrders {
  std::string call;
  std::string output;
  std::vector<std::pair<std::string, std::vector<std::string>>> stacks_by_order;  // in the order of the columns
  std::map<std::string, std::vector<std::string>> stacks_by_problem;
  bool bits_differ = false;
};

OutputOrders& find_or_add(std::vector<OutputOrders>& outputs, const std::string& call, const std::string& output) {
  const auto found =
      std::ranges::find_if(outputs, [&](const OutputOrders& one) { return one.call == call && one.output == output; });
  if (found != outputs.end()) return *found;
  outputs.push_back({call, output, {}, {}, false});
  return outputs.back();
}

std::vector<OutputOrders> outputs_of(const OperatorAtlas& atlas) {
  std::vector<OutputOrders> all;
  for (const AtlasRow& row : atlas.rows) {
    std::vector<OutputOrders> of_call;
    for (std::size_t column = 0; column < row.by_column.size(); ++column) {
      const CallComparison& call = row.by_column[column];
      for (const OrderName& order : call.orders) {
        OutputOrders& output = find_or_add(of_call, row.call, order.output);
        output.bits_differ = output.bits_differ || std::ranges::count(call.differing, order.output) > 0;
        const std::string& stack = atlas.columns[column].name;
        if (order.name.empty()) {
          output.stacks_by_problem[order.problem].push_back(stack);
          continue;
        }
        auto& orders = output.stacks_by_order;
        const auto same = std::ranges::find(orders, order.name, [](const auto& one) { return one.first; });
        if (same == orders.end()) {
          orders.push_back({order.name, {stack}});
        } else {
          same->second.push_back(stack);
        }
      }
    }
    all.insert(all.end(), of_call.begin(), of_call.end());
  }
  return all;
}

bool is_known_everywhere(const OutputOrders& output) { return output.stacks_by_problem.empty(); }

std::string text_of(const OutputOrders& output) {
  TextTable table("  <60 <");
  table.line("{}  {}", output.call, output.output);
  for (const auto& [order, stacks] : output.stacks_by_order) table.row(order, fmt::join(stacks, ", "));
  for (const auto& [problem, stacks] : output.stacks_by_problem) {
    table.line("  not known: {}: {}", problem, fmt::join(stacks, ", "));
  }
  return table.text();
}

// "relu is not among ..." of 40 outputs is told once.
std::string reasons_text(const std::vector<OutputOrders>& outputs) {
  std::map<std::string, int> counts;
  for (const OutputOrders& output : outputs) {
    if (output.stacks_by_order.empty()) ++counts[output.stacks_by_problem.begin()->first];
  }
  std::string text;
  for (const auto& [reason, count] : counts) text += fmt::format("  {} x {}\n", count, reason);
  return text;
}

// How one release's orders of one operator's outputs compare with the reference's.
struct OrderCounts {
  int same = 0;
  int other = 0;
  int unknown = 0;

  std::string text() const {
    if (same + other + unknown == 0) return "";  // the release has no such call
    std::string cell = other > 0 ? std::to_string(other) : unknown > 0 ? "" : "=";
    if (unknown > 0) cell += fmt::format("{}{}?", cell.empty() ? "" : " ", unknown);
    return cell;
  }
};

OrderCounts counts_of(const CallComparison& call, const CallComparison& reference) {
  OrderCounts counts;
  if (call.orders.empty()) return counts;
  for (const OrderName& order : reference.orders) {  // an output that only one side has is not known on the other
    if (std::ranges::find(call.orders, order.output, &OrderName::output) == call.orders.end()) ++counts.unknown;
  }
  for (const OrderName& order : call.orders) {
    const auto theirs = std::ranges::find(reference.orders, order.output, &OrderName::output);
    if (order.name.empty() || theirs == reference.orders.end() || theirs->name.empty()) {
      ++counts.unknown;
    } else {
      ++(theirs->name == order.name ? counts.same : counts.other);
    }
  }
  return counts;
}

// A line an operator, a column a release.
std::string release_table(const OperatorAtlas& atlas) {
  std::vector<std::pair<std::string, std::vector<OrderCounts>>> operators;
  std::map<std::string, std::size_t> outputs;
  for (const AtlasRow& row : atlas.rows) {
    const std::string name = row.call.substr(0, row.call.find('('));
    auto found = std::ranges::find(operators, name, [](const auto& one) { return one.first; });
    if (found == operators.end()) {
      found = operators.insert(operators.end(), {name, std::vector<OrderCounts>(atlas.columns.size())});
    }
    std::size_t most = 0;
    for (const CallComparison& call : row.by_column) most = std::max(most, call.orders.size());
    outputs[name] += most;
    for (std::size_t column = 0; column < atlas.columns.size(); ++column) {
      const CallComparison& reference = row.by_column[reference_of(atlas, column).value_or(column)];
      const OrderCounts counts = counts_of(row.by_column[column], reference);
      OrderCounts& all = found->second[column];
      all.same += counts.same;
      all.other += counts.other;
      all.unknown += counts.unknown;
    }
  }
  std::string text = "| operator | outputs |";
  std::string rule = "\n| --- | --- |";
  for (const AtlasColumn& column : atlas.columns) {
    text += fmt::format(" {} |", column.release);
    rule += " --- |";
  }
  text += rule + "\n";
  for (const auto& [name, by_column] : operators) {
    text += fmt::format("| `{}` | {} |", name, outputs[name]);
    for (const OrderCounts& counts : by_column) text += fmt::format(" {} |", counts.text());
    text += "\n";
  }
  return text + fmt::format(
                    "=: all outputs add in the order of {}; 2: so many in another order, replayed to the bit on both "
                    "sides; 3?: so many whose order is not known on one side\n",
                    atlas.expected_run.empty() ? atlas.columns[atlas.reference].name : "the other run's column");
}

}  // namespace

std::string orders_text(const OperatorAtlas& atlas, bool with_equal) {
  const std::vector<OutputOrders> outputs = outputs_of(atlas);
  if (outputs.empty()) {
    return fmt::format("run {} asked for no orders of summation; see matrix/orders.yaml\n", atlas.run);
  }
  std::string text;
  if (!atlas.planted.empty()) text += fmt::format("DRILL, planted: {}\n", fmt::join(atlas.planted, "; "));
  text += fmt::format("orders of summation: {} outputs of {} calls on {} stacks; {}\n\n", outputs.size(),
                      atlas.rows.size(), atlas.columns.size(), atlas.cpu);
  int equal = 0;
  int unknown = 0;
  for (const OutputOrders& output : outputs) {
    const bool is_one = output.stacks_by_order.size() == 1 && is_known_everywhere(output);
    equal += is_one ? 1 : 0;
    unknown += output.stacks_by_order.empty() ? 1 : 0;
    if (output.stacks_by_order.empty() || (is_one && !with_equal)) continue;
    text += text_of(output) + "\n";
  }
  text += fmt::format(
      "{} outputs have one order on every stack that made them: equal bits for every input of their shape.\n", equal);
  if (unknown > 0) text += fmt::format("{} outputs whose order no stack has:\n{}", unknown, reasons_text(outputs));
  return text + "\n" + release_table(atlas);
}

}  // namespace reprobench
