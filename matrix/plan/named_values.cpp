#include "matrix/plan/named_values.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

// Null: the selector may match cells of any value.
const std::vector<std::string>* values_of(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& necessary, std::string_view name) {
  const auto found = std::ranges::find_if(necessary, [&](const auto& term) { return term.first == name; });
  return found == necessary.end() ? nullptr : &found->second;
}

}  // namespace

NamedValues::NamedValues(const MatrixSpec& matrix) {
  for (const auto* rules : {&matrix.exclude, &matrix.required}) {
    for (const SelectionRule& rule : *rules) add(rule.where, rule.mark);
  }
  for (const ThresholdRule& rule : matrix.thresholds) add(rule.where, rule.mark);
  for (const InjectRule& rule : matrix.inject) add(rule.where, rule.mark);
}

void NamedValues::add(const Selector& where, const Mark& mark) {
  for (const auto& [name, values] : where.compared()) {
    for (const std::string& value : values) coordinates_[name].unseen.try_emplace(value, mark);
  }
}

void NamedValues::see(const CoordinateLookup& cell) {
  for (auto& [name, coordinate] : coordinates_) {
    if (coordinate.unseen.empty()) continue;
    const auto value = cell(name);
    if (!value || coordinate.seen.contains(*value)) continue;
    coordinate.seen.emplace(*value);
    if (const auto found = coordinate.unseen.find(*value); found != coordinate.unseen.end()) {
      coordinate.unseen.erase(found);
    }
  }
}

void NamedValues::report(Diagnostics& diagnostics) const {
  for (const auto& [name, coordinate] : coordinates_) {
    const std::vector<std::string> seen(coordinate.seen.begin(), coordinate.seen.end());
    for (const auto& [value, mark] : coordinate.unseen) {
      diagnostics.error(mark, "RB024", fmt::format("no cell has {} `{}`, which this rule names", name, value),
                        did_you_mean(value, seen));
    }
  }
}

RequiredStacks::RequiredStacks(const MatrixSpec& matrix) {
  for (const SelectionRule& rule : matrix.required) {
    const auto necessary = rule.where.necessary();
    const auto* stacks = values_of(necessary, "stack");
    if (stacks == nullptr) continue;
    const auto* suites = values_of(necessary, "suite");
    for (const std::string& suite : suites == nullptr ? matrix.suites : *suites) {
      for (const std::string& stack : *stacks) unseen_.try_emplace({stack, suite}, rule.mark);
    }
  }
}

void RequiredStacks::see(const CoordinateLookup& cell) {
  if (unseen_.empty()) return;
  unseen_.erase({std::string(cell("stack").value()), std::string(cell("suite").value())});  // every cell has both
}

void RequiredStacks::report(Diagnostics& diagnostics) const {
  for (const auto& [missing, mark] : unseen_) {
    diagnostics.error(
        mark, "RB024",
        fmt::format("`{}` is required, and `exclude` leaves it no cell of suite `{}`", missing.first, missing.second),
        "leave it one, or name the suites of which it is required");
  }
}

}  // namespace reprobench
