#include "matrix/cli/text/order_changes_text.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/cli/text/text_table.hpp"

namespace reprobench {
namespace {

using Counts = std::map<OrderChangeWord, int>;

Counts counts_of(const std::vector<CallOrderChanges>& changes) {
  Counts counts;
  for (const CallOrderChanges& call : changes) {
    for (const OrderChange& one : call.outputs) ++counts[one.word];
  }
  return counts;
}

std::string operator_of(const std::string& call) { return call.substr(0, call.find('(')); }

// Outputs of one call that changed in the same way stand together.
std::string changes_of(const CallOrderChanges& call, const std::string& measured, const std::string& expected) {
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> alike;
  std::string broken;
  for (const OrderChange& one : call.outputs) {
    if (one.word == OrderChangeWord::broken) broken += fmt::format("    {}\n", one.why);
    if (one.word != OrderChangeWord::other) continue;
    const std::pair orders{one.measured, one.expected};
    auto found = std::ranges::find(alike, orders, [](const auto& group) { return group.first; });
    if (found == alike.end()) found = alike.insert(alike.end(), {orders, {}});
    found->second.push_back(one.output);
  }
  TextTable table("    <60 <");
  for (const auto& [orders, outputs] : alike) {
    table.line("  {}  {}", call.call, fmt::join(outputs, ", "));
    table.row(orders.first, measured).row(orders.second, expected);
  }
  return table.text() + (broken.empty() ? "" : fmt::format("  {}\n{}", call.call, broken));
}

// By library, in the order in which the list comes to them; what is not known stands last.
std::string by_library(const std::vector<CallOrderChanges>& changes, const std::string& measured,
                       const std::string& expected) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const CallOrderChanges& call : changes) {
    const std::string text = changes_of(call, measured, expected);
    if (text.empty()) continue;
    auto found = std::ranges::find(groups, call.library, [](const auto& group) { return group.first; });
    if (found == groups.end()) found = groups.insert(groups.end(), {call.library, ""});
    found->second += text;
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [](const auto& group) { return !group.first.starts_with("not known"); });
  std::string text;
  for (const auto& [library, calls] : groups) text += fmt::format("computed by: {}\n{}\n", library, calls);
  return text;
}

// "mm 18, addmm 16"
std::string same_text(const std::vector<CallOrderChanges>& changes) {
  std::vector<std::pair<std::string, int>> counts;
  for (const CallOrderChanges& call : changes) {
    const auto same = static_cast<int>(std::ranges::count(call.outputs, OrderChangeWord::same, &OrderChange::word));
    if (same == 0) continue;
    const std::string name = operator_of(call.call);
    auto found = std::ranges::find(counts, name, [](const auto& one) { return one.first; });
    if (found == counts.end()) found = counts.insert(counts.end(), {name, 0});
    found->second += same;
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : counts) words.push_back(fmt::format("{} {}", name, count));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string unknown_text(const std::vector<CallOrderChanges>& changes) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const CallOrderChanges& call : changes) {
    for (const OrderChange& one : call.outputs) {
      if (one.word == OrderChangeWord::unknown) ++counts[{operator_of(call.call), one.why}];
    }
  }
  std::string text;
  for (const auto& [what, count] : counts) text += fmt::format("  {} x {}: {}\n", count, what.first, what.second);
  return text;
}

}  // namespace

std::string order_changes_text(const OperatorAtlas& atlas, std::size_t measured, std::size_t expected,
                               bool only_changed) {
  const std::string& our_name = atlas.columns[measured].name;
  const std::string& their_name = atlas.columns[expected].name;
  std::string text;
  if (!atlas.planted.empty()) text += fmt::format("DRILL, planted: {}\n", fmt::join(atlas.planted, "; "));
  text += fmt::format("orders of summation: {} against {}; {} calls; {}\n", our_name, their_name, atlas.rows.size(),
                      atlas.cpu);
  for (const std::size_t column : {measured, expected}) {
    const AtlasColumn& one = atlas.columns[column];
    if (!one.problem.empty()) text += fmt::format("{} has no records: {}\n", one.name, one.problem);
  }
  const std::vector<CallOrderChanges> changes = order_changes(atlas, measured, expected);
  Counts counts = counts_of(changes);
  text += "\n" + by_library(changes, our_name, their_name);
  if (only_changed) return text;
  if (counts[OrderChangeWord::same] > 0) {
    text += fmt::format(
        "{} outputs add in one order on both, which gives equal bits for every input of their shape:\n  {}\n",
        counts[OrderChangeWord::same], same_text(changes));
  }
  if (counts[OrderChangeWord::unknown] > 0) {
    text += fmt::format("{} are not known:\n{}", counts[OrderChangeWord::unknown], unknown_text(changes));
  }
  return text;
}

std::string order_count_text(const std::vector<CallOrderChanges>& changes) {
  Counts counts = counts_of(changes);
  std::string text = fmt::format("orders: {} other, {} the same, {} not known", counts[OrderChangeWord::other],
                                 counts[OrderChangeWord::same], counts[OrderChangeWord::unknown]);
  if (counts[OrderChangeWord::broken] > 0) {
    text += fmt::format("; {} that no order explains", counts[OrderChangeWord::broken]);
  }
  return text;
}

}  // namespace reprobench
