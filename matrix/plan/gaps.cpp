#include "matrix/plan/gaps.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace reprobench {
namespace {

std::vector<const ThresholdRule*> all_rules(const RulesOfCell& rules) {
  std::vector<const ThresholdRule*> all;
  for (const auto* list : {&rules.suite.thresholds, &rules.matrix.thresholds}) {
    for (const ThresholdRule& rule : *list) all.push_back(&rule);
  }
  return all;
}

const CellThreshold* threshold_of(const ThresholdRule& rule, const Cell& cell) {
  const auto found = std::ranges::find_if(cell.thresholds, [&](const CellThreshold& threshold) {
    return covers(rule.metric, threshold.metric) && (rule.of.empty() || threshold.of == rule.of);
  });
  return found == cell.thresholds.end() ? nullptr : &*found;
}

std::set<Dimension> armed_dimensions(const std::vector<const ThresholdRule*>& rules, const Cell& cell) {
  std::set<Dimension> armed;
  for (const ThresholdRule* rule : rules) {
    const bool is_armed = std::ranges::any_of(cell.thresholds, [&](const CellThreshold& threshold) {
      return threshold.metric == rule->metric && threshold.gate == Gate::armed;
    });
    if (is_armed) armed.insert(rule->dimension);
  }
  return armed;
}

// Selects the cell once one coordinate that the matrix compares has another of its values. Stacks are always compared:
// theirs are the names that a version bump changes.
bool selects_another(const ThresholdRule& rule, const RulesOfCell& rules) {
  const auto compared = rule.where.compared();
  for (const Axis& axis : rules.matrix.axes) {
    if (axis.name != "stack" && !rules.matrix.reference.contains(axis.name)) continue;
    if (std::ranges::none_of(compared, [&](const auto& term) { return term.first == axis.name; })) continue;
    for (const std::string& value : axis.values) {
      const CoordinateLookup other = [&](const std::string& name) {
        return name == axis.name ? std::optional<std::string_view>(value) : rules.coordinates(name);
      };
      if (rule.where.matches(other)) return true;
    }
  }
  return false;
}

std::string condition_of(const Mark& mark, const RulesOfCell& rules) {
  for (const ThresholdRule* rule : all_rules(rules)) {
    if (to_string(rule->mark) == to_string(mark) && !rule->where.selects_everything()) {
      return fmt::format(", where `{}`", rule->where.text());
    }
  }
  return "";
}

// Of an armed rule in a dimension that is not armed; empty: it asks nothing of this cell.
std::string unarmed_because(const ThresholdRule& rule, const RulesOfCell& rules) {
  const CellThreshold* threshold = threshold_of(rule, rules.cell);
  if (rule.where.matches(rules.coordinates)) {
    if (threshold == nullptr) return "";
    const Mark& by = threshold->gate_mark.file.empty() ? threshold->mark : threshold->gate_mark;
    return fmt::format("`{}` of {} is only recorded here, by {}{}", rule.metric, to_string(rule.mark), to_string(by),
                       condition_of(by, rules));
  }
  if (rules.is_reference || (!rule.bound && threshold == nullptr) || !selects_another(rule, rules)) return "";
  return fmt::format("`{}` of {} holds where `{}`, which does not select this cell", rule.metric, to_string(rule.mark),
                     rule.where.text());
}

bool lets_no_bit_differ(const CellThreshold& threshold) {
  return threshold.metric == kReferenceMismatches && threshold.gate == Gate::armed && threshold.bound.limit == 0;
}

// Other armed checks of numerics do not ask what differs from the reference, so this one is a question by itself.
std::string difference_unasked_because(const RulesOfCell& rules) {
  std::string why;
  for (const CellThreshold& threshold : rules.cell.thresholds) {
    if (threshold.metric != kBeyondRounding && threshold.metric != kReferenceMismatches) continue;
    if (lets_no_bit_differ(threshold)) return "";
    if (threshold.gate == Gate::armed) {
      if (threshold.metric == kBeyondRounding) return "";
      continue;  // some bits may differ
    }
    const Mark& by = threshold.gate_mark.file.empty() ? threshold.mark : threshold.gate_mark;
    const std::string where = condition_of(by, rules);
    if (where.empty()) continue;
    why = fmt::format("`{}` of {} is only recorded here, by {}{}", threshold.metric, to_string(threshold.mark),
                      to_string(by), where);
  }
  return why;
}

bool has_gap(Dimension dimension, const std::vector<Gap>& gaps) {
  return std::ranges::find(gaps, dimension, &Gap::dimension) != gaps.end();
}

}  // namespace

std::vector<Gap> unarmed_dimensions(const RulesOfCell& rules) {
  const std::vector<const ThresholdRule*> all = all_rules(rules);
  const std::set<Dimension> armed = armed_dimensions(all, rules.cell);
  std::vector<Gap> gaps;
  for (const ThresholdRule* rule : all) {
    if (rule->gate != Gate::armed || armed.contains(rule->dimension) || has_gap(rule->dimension, gaps)) continue;
    const std::string why = unarmed_because(*rule, rules);
    if (why.empty()) continue;
    gaps.push_back(
        {rule->dimension, "unarmed", fmt::format("no check of {} is armed: {}", to_string(rule->dimension), why)});
  }
  const std::string why = difference_unasked_because(rules);
  if (!why.empty() && !has_gap(Dimension::numerics, gaps)) {
    gaps.push_back({Dimension::numerics, "unarmed",
                    fmt::format("no check asks whether numbers differ by more than rounding: {}", why)});
  }
  return gaps;
}

bool asks_of_differences(const Cell& cell) {
  return std::ranges::any_of(cell.thresholds, [](const CellThreshold& threshold) {
    return threshold.metric == kBeyondRounding || lets_no_bit_differ(threshold);
  });
}

std::vector<Gap> dimensions_of_own_reference(const RulesOfCell& rules) {
  std::vector<Gap> gaps;
  for (const ThresholdRule* rule : all_rules(rules)) {
    if (!rule->bound || rule->gate != Gate::armed || !rule->bound->vs_reference) continue;
    if (has_gap(rule->dimension, gaps) || !rule->where.matches(rules.coordinates)) continue;
    gaps.push_back({rule->dimension, "own_reference",
                    fmt::format("this cell is its own reference, so `{}` of {} is held against nothing", rule->metric,
                                to_string(rule->mark))});
  }
  const bool has_numbers = rules.matrix.reference.contains("stack") && !rules.cell.request.workload.is_probe();
  if (has_numbers && !has_gap(Dimension::numerics, gaps)) {
    gaps.push_back({Dimension::numerics, "own_reference",
                    fmt::format("this cell is its own reference, by {}, so its numbers are held against nothing",
                                to_string(rules.matrix.reference_mark))});
  }
  return gaps;
}

}  // namespace reprobench
