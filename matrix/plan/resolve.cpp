#include "matrix/plan/resolve.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "matrix/plan/compat_rules.hpp"

namespace reprobench {

std::vector<PlannedCell> resolve(std::vector<Cell> cells, const StackCatalog& catalog, const CompatFacts& facts,
                                 const HostFacts& host) {
  std::vector<PlannedCell> planned;
  planned.reserve(cells.size());
  for (Cell& cell : cells) {
    PlannedCell& result = planned.emplace_back();
    result.cell = std::move(cell);
    const auto stack = catalog.stacks.find(result.cell.request.stack);
    if (stack == catalog.stacks.end()) throw std::logic_error("check_stacks() was not asked before resolve()");
    const auto found = catalog.availability.find(stack->first);
    const StackAvailability availability = found == catalog.availability.end() ? StackAvailability{} : found->second;
    for (const CompatRule& rule : compat_rules()) {
      RuleResult outcome = rule.apply({result.cell, stack->second, availability, facts, host});
      if (!outcome.note.empty()) result.notes.push_back(std::move(outcome.note));
      if (outcome.skip_reason.empty()) continue;
      result.skip = Skip{std::string(rule.id), std::move(outcome.skip_reason)};
      break;
    }
  }
  return planned;
}

}  // namespace reprobench
